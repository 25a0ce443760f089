// The timeline canvas, with pointer and keyboard navigation.

import { effect, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { answerSource } from '../../answers/answer-source';
import { fontScale } from '../../charts/font-scale';
import { formatRanks } from '../../ranks';
import { select, selection } from '../../state/address';
import { effectiveTheme } from '../../state/theme';
import { nanoseconds, timeRange } from '../../units';
import { paint } from './paint';
import { callAt, rowAt, type Scene, xToTime } from './scene';
import { durationOf, isSameSpan, shiftSpan } from './time-span';
import type { TimelineController } from './timeline-controller';
import { Tooltip } from './tooltip';

/** A drag in progress: its action, start and current position. */
interface Drag {
    action: 'move' | 'window' | 'ranks';
    x: number;
    y: number;
    nowX: number;
    nowY: number;
    /** The window at its start. */
    from: number;
    to: number;
}

/** Minimum height, and the height of everything else on the page at the default font scale, in pixels. */
const MIN_HEIGHT = 260;
const SURROUNDING_HEIGHT = 390;
/** Pointer movement, in pixels, that still counts as a click. */
const CLICK_TOLERANCE = 4;

export function TimelineCanvas({ controller }: { controller: TimelineController }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const container = useRef<HTMLDivElement>(null);
    const drag = useSignal<Drag | undefined>(undefined);
    const pointer = useSignal<{ x: number; y: number } | undefined>(undefined);

    useLayoutEffect(() => {
        const measure = () => {
            const width = container.current?.clientWidth ?? 0;
            const scale = fontScale();
            const height = Math.max(MIN_HEIGHT, innerHeight - SURROUNDING_HEIGHT * scale);
            const { viewport } = controller;
            if (width !== viewport.value.width || height !== viewport.value.height || scale !== viewport.value.larger)
                viewport.value = { width, height, larger: scale };
        };
        measure();
        const observer = new ResizeObserver(measure);
        if (container.current) observer.observe(container.current);
        addEventListener('resize', measure);
        return () => {
            observer.disconnect();
            removeEventListener('resize', measure);
        };
    }, [controller]);

    useEffect(() => paintOnChange(controller, canvas.current), [controller]);

    useEffect(() => {
        const element = canvas.current;
        const onWheel = (event: WheelEvent) => {
            event.preventDefault();
            const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
            const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) controller.move((unit * sideways) / 1000);
            else controller.zoom(1.002 ** Math.max(-400, Math.min(400, unit * event.deltaY)), xToTime(controller.scene.value, event.offsetX));
        };
        element?.addEventListener('wheel', onWheel, { passive: false });
        return () => element?.removeEventListener('wheel', onWheel);
    }, [controller]);

    const onPointerDown = (event: PointerEvent) => {
        if (event.button !== 0) return;
        canvas.current?.setPointerCapture(event.pointerId);
        const { offsetX: x, offsetY: y } = event;
        const { gutter, axis } = controller.scene.value;
        const does = x < gutter ? 'ranks' : y < axis || event.shiftKey ? 'window' : 'move';
        drag.value = { action: does, x, y, nowX: x, nowY: y, ...controller.span.value };
    };
    const move = (event: PointerEvent) => {
        const { offsetX: nowX, offsetY: nowY } = event;
        pointer.value = { x: nowX, y: nowY };
        const startedDrag = drag.value;
        if (!startedDrag) return;
        drag.value = { ...startedDrag, nowX, nowY };
        const { width, gutter } = controller.scene.value;
        if (startedDrag.action === 'move') controller.showSpan(shiftSpan(startedDrag, (startedDrag.x - nowX) / (width - gutter)));
    };
    const onPointerUp = () => {
        const ended = drag.value;
        drag.value = undefined;
        if (!ended) return;
        const scene = controller.scene.value;
        const still = Math.abs(ended.nowX - ended.x) < CLICK_TOLERANCE && Math.abs(ended.nowY - ended.y) < CLICK_TOLERANCE;
        if (ended.action === 'ranks') selectRows(scene, ended.y, ended.nowY);
        else if (still) findCallUnder(controller, ended.x, ended.y, (call) => controller.selectCall(call));
        else if (ended.action === 'window') {
            const [from, to] = [ended.x, ended.nowX].map((x) => xToTime(scene, Math.max(scene.gutter, x))).sort((one, other) => one - other);
            if (from !== undefined && to !== undefined) controller.showSpan({ from, to }, true);
        }
    };
    const doubleClick = ({ offsetX, offsetY }: MouseEvent) =>
        findCallUnder(controller, offsetX, offsetY, (call) => {
            controller.selectCall(call);
            if (call) controller.zoomTo(call);
            else controller.zoom(0.25, xToTime(controller.scene.value, offsetX));
        });
    const { span, scene } = controller;
    const shown = scene.value;
    return (
        <div ref={container} class="timeline-container">
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas handles its own keys */}
            <canvas
                ref={canvas}
                class="timeline-canvas"
                tabIndex={0}
                role="application"
                aria-roledescription="timeline"
                aria-label={`${shown.rows.length} rows from ${timeRange(span.value.from, span.value.to)}`}
                aria-describedby="timeline-keys"
                onPointerDown={onPointerDown}
                onPointerMove={move}
                onPointerUp={onPointerUp}
                onPointerCancel={() => {
                    drag.value = undefined;
                }}
                onPointerLeave={() => {
                    pointer.value = undefined;
                }}
                onDblClick={doubleClick}
            />
            <SelectionBand drag={drag.value} scene={shown} />
            {pointer.value && !drag.value && <Tooltip controller={controller} {...pointer.value} />}
        </div>
    );
}

/** Repaints at most once per frame. */
function paintOnChange(controller: TimelineController, canvas: HTMLCanvasElement | null): () => void {
    const context = canvas?.getContext('2d');
    if (!canvas || !context) return () => undefined;
    let frame = 0;
    const draw = () => {
        frame = 0;
        const scene = controller.scene.peek();
        const pixelRatio = devicePixelRatio || 1;
        const [width, height] = [Math.round(scene.width * pixelRatio), Math.round(scene.height * pixelRatio)];
        if (canvas.width !== width || canvas.height !== height) {
            canvas.width = width;
            canvas.height = height;
            canvas.style.height = `${scene.height}px`;
        }
        context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
        paint(context, scene);
        // For tests.
        canvas.dataset.drawn = `${scene.span.from}-${scene.span.to}`;
        canvas.dataset.settled = String(isFinestDrawn(scene));
        canvas.dataset.regions = scene.regions ? String(scene.regions.length) : '';
        canvas.dataset.calls = scene.calls ? String(scene.calls.length) : '';
    };
    const end = effect(() => {
        void controller.scene.value;
        void effectiveTheme.value;
        frame ||= requestAnimationFrame(draw);
    });
    return () => {
        end();
        cancelAnimationFrame(frame);
    };
}

/** Whether no finer raster is expected. */
const isFinestDrawn = (scene: Scene): boolean => !answerSource.isLive || scene.rasters.some((raster) => isSameSpan(raster.requestedSpan, scene.span));

function SelectionBand({ drag, scene }: { drag: Drag | undefined; scene: Scene }) {
    if (!drag || drag.action === 'move') return null;
    const [left = 0, right = 0] = [drag.x, drag.nowX].sort((one, other) => one - other);
    const [top = 0, bottom = 0] = [drag.y, drag.nowY].sort((one, other) => one - other);
    const begin = Math.max(scene.gutter, left);
    const style =
        drag.action === 'window'
            ? { left: `${begin}px`, width: `${right - begin}px`, top: 0, height: `${scene.height}px` }
            : { left: 0, width: `${scene.width}px`, top: `${top}px`, height: `${bottom - top}px` };
    const text = drag.action === 'window' ? nanoseconds(((right - left) / (scene.width - scene.gutter)) * durationOf(scene.span)) : '';
    return (
        <div class="timeline-band" style={style}>
            {text}
        </div>
    );
}

function selectRows(scene: Scene, y0: number, y1: number): void {
    const rows = [y0, y1].map((y) => rowAt(scene, y)).filter((row) => row !== undefined);
    if (rows.length === 0) return;
    const ranks = scene.rows.slice(Math.min(...rows), Math.max(...rows) + 1).flatMap((row) => row.ranks);
    const text = formatRanks([...new Set(ranks)].sort((one, other) => one - other));
    select({ ranks: text === selection.value.ranks ? undefined : text });
}

/** Finds the call under a point. If only cells are known, the server is queried. */
function findCallUnder(
    controller: TimelineController,
    x: number,
    y: number,
    then: (call: { rank: number; enter: number; leave: number } | undefined) => void,
): void {
    const scene = controller.scene.value;
    const row = rowAt(scene, y);
    const ranks = (row !== undefined && x >= scene.gutter && scene.rows[row]?.ranks) || [];
    const time = xToTime(scene, x);
    if (scene.calls && row !== undefined && ranks.length > 0) then(callAt(scene, row, time, y));
    else if (ranks.length !== 1 || !answerSource.isLive) then(undefined);
    else {
        const cell = durationOf(scene.span) / (scene.width - scene.gutter);
        const wanted = { from: Math.ceil(time + cell), back: true, ranks: formatRanks(ranks) };
        controller.find(wanted, (found) => then(found && found.leave >= time - cell ? found : undefined));
    }
}
