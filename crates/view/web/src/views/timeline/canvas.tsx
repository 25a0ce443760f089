// The timeline itself: drawn on a canvas, moved with the pointer and with keys.

import { effect, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { write } from '../../ranks';
import { select, selection } from '../../state/address';
import { look } from '../../state/theme';
import { growth } from '../../charts/growth';
import { source } from '../../answers/source';
import { nanoseconds, stretch } from '../../units';
import type { Control } from './control';
import { paint } from './paint';
import { callAt, momentAt, rowAt, type Scene } from './scene';
import { lengthOf, moved, same } from './span';
import { Tip } from './tip';

/** A drag under way: what it will do, where it began, and where it is. */
interface Drag {
    does: 'move' | 'window' | 'ranks';
    x: number;
    y: number;
    nowX: number;
    nowY: number;
    /** The window when it began. */
    from: number;
    to: number;
}

/** The least height, and what stands above and below on the page, on usual screens, in pixels. */
const LEAST = 260;
const AROUND = 330;
/** A pointer that moved no farther was not dragged. */
const STILL = 4;

export function Canvas({ control }: { control: Control }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const place = useRef<HTMLDivElement>(null);
    const drag = useSignal<Drag | undefined>(undefined);
    const pointer = useSignal<{ x: number; y: number } | undefined>(undefined);

    useLayoutEffect(() => {
        const measure = () => {
            const width = place.current?.clientWidth ?? 0;
            const larger = growth();
            const height = Math.max(LEAST, innerHeight - AROUND * larger);
            const { room } = control;
            if (width !== room.value.width || height !== room.value.height || larger !== room.value.larger) room.value = { width, height, larger };
        };
        measure();
        const observer = new ResizeObserver(measure);
        if (place.current) observer.observe(place.current);
        addEventListener('resize', measure);
        return () => {
            observer.disconnect();
            removeEventListener('resize', measure);
        };
    }, [control]);

    useEffect(() => paintWhenChanged(control, canvas.current), [control]);

    useEffect(() => {
        const element = canvas.current;
        const turn = (event: WheelEvent) => {
            event.preventDefault();
            const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
            const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) control.move((unit * sideways) / 1000);
            else control.zoom(1.002 ** Math.max(-400, Math.min(400, unit * event.deltaY)), momentAt(control.scene.value, event.offsetX));
        };
        element?.addEventListener('wheel', turn, { passive: false });
        return () => element?.removeEventListener('wheel', turn);
    }, [control]);

    const down = (event: PointerEvent) => {
        if (event.button !== 0) return;
        canvas.current?.setPointerCapture(event.pointerId);
        const { offsetX: x, offsetY: y } = event;
        const { gutter, axis } = control.scene.value;
        const does = x < gutter ? 'ranks' : y < axis || event.shiftKey ? 'window' : 'move';
        drag.value = { does, x, y, nowX: x, nowY: y, ...control.span.value };
    };
    const move = (event: PointerEvent) => {
        const { offsetX: nowX, offsetY: nowY } = event;
        pointer.value = { x: nowX, y: nowY };
        const begun = drag.value;
        if (!begun) return;
        drag.value = { ...begun, nowX, nowY };
        const { width, gutter } = control.scene.value;
        if (begun.does === 'move') control.go(moved(begun, (begun.x - nowX) / (width - gutter)));
    };
    const up = () => {
        const ended = drag.value;
        drag.value = undefined;
        if (!ended) return;
        const scene = control.scene.value;
        const still = Math.abs(ended.nowX - ended.x) < STILL && Math.abs(ended.nowY - ended.y) < STILL;
        if (ended.does === 'ranks') selectRows(scene, ended.y, ended.nowY);
        else if (still) findUnder(control, ended.x, ended.y, (call) => control.choose(call));
        else if (ended.does === 'window') {
            const [from, to] = [ended.x, ended.nowX].map((x) => momentAt(scene, Math.max(scene.gutter, x))).sort((one, other) => one - other);
            if (from !== undefined && to !== undefined) control.go({ from, to }, true);
        }
    };
    const twice = ({ offsetX, offsetY }: MouseEvent) =>
        findUnder(control, offsetX, offsetY, (call) => {
            control.choose(call);
            if (call) control.zoomTo(call);
            else control.zoom(0.25, momentAt(control.scene.value, offsetX));
        });
    const { span, scene } = control;
    const shown = scene.value;
    return (
        <div ref={place} class="timeline-place">
            <canvas
                ref={canvas}
                class="timeline-canvas"
                tabIndex={0}
                role="application"
                aria-roledescription="timeline"
                aria-label={`${shown.rows.length} rows from ${stretch(span.value.from, span.value.to)}`}
                aria-describedby="timeline-keys"
                onPointerDown={down}
                onPointerMove={move}
                onPointerUp={up}
                onPointerCancel={() => {
                    drag.value = undefined;
                }}
                onPointerLeave={() => {
                    pointer.value = undefined;
                }}
                onDblClick={twice}
            />
            <Band drag={drag.value} scene={shown} />
            {pointer.value && !drag.value && <Tip control={control} {...pointer.value} />}
        </div>
    );
}

/** Draws once per frame, however often something changed. */
function paintWhenChanged(control: Control, canvas: HTMLCanvasElement | null): () => void {
    const context = canvas?.getContext('2d');
    if (!canvas || !context) return () => undefined;
    let frame = 0;
    const draw = () => {
        frame = 0;
        const scene = control.scene.peek();
        const dots = devicePixelRatio || 1;
        const [width, height] = [Math.round(scene.width * dots), Math.round(scene.height * dots)];
        if (canvas.width !== width || canvas.height !== height) {
            canvas.width = width;
            canvas.height = height;
            canvas.style.height = `${scene.height}px`;
        }
        context.setTransform(dots, 0, 0, dots, 0, 0);
        paint(context, scene);
        // For whoever watches from outside, such as a test.
        canvas.dataset.drawn = `${scene.span.from}-${scene.span.to}`;
        canvas.dataset.settled = String(isSettled(scene));
        canvas.dataset.calls = scene.calls ? String(scene.calls.length) : '';
    };
    const end = effect(() => {
        void control.scene.value;
        void look.value;
        frame ||= requestAnimationFrame(draw);
    });
    return () => {
        end();
        cancelAnimationFrame(frame);
    };
}

/** Whether nothing finer is on its way. */
const isSettled = (scene: Scene): boolean =>
    !source.live || scene.pictures.some((picture) => same(picture.asked, scene.span));

function Band({ drag, scene }: { drag: Drag | undefined; scene: Scene }) {
    if (!drag || drag.does === 'move') return null;
    const [left = 0, right = 0] = [drag.x, drag.nowX].sort((one, other) => one - other);
    const [top = 0, bottom = 0] = [drag.y, drag.nowY].sort((one, other) => one - other);
    const begin = Math.max(scene.gutter, left);
    const style =
        drag.does === 'window'
            ? { left: `${begin}px`, width: `${right - begin}px`, top: 0, height: `${scene.height}px` }
            : { left: 0, width: `${scene.width}px`, top: `${top}px`, height: `${bottom - top}px` };
    const said = drag.does === 'window' ? nanoseconds(((right - left) / (scene.width - scene.gutter)) * lengthOf(scene.span)) : '';
    return (
        <div class="timeline-band" style={style}>
            {said}
        </div>
    );
}

function selectRows(scene: Scene, y0: number, y1: number): void {
    const rows = [y0, y1].map((y) => rowAt(scene, y)).filter((row) => row !== undefined);
    if (rows.length === 0) return;
    const ranks = scene.rows.slice(Math.min(...rows), Math.max(...rows) + 1).flatMap((row) => row.ranks);
    const text = write(ranks.sort((one, other) => one - other));
    select({ ranks: text === selection.value.ranks ? undefined : text });
}

/** Does something with the call under a point, or with none; where only cells are known, the command is asked. */
function findUnder(control: Control, x: number, y: number, then: (call: { rank: number; enter: number; leave: number } | undefined) => void): void {
    const scene = control.scene.value;
    const row = rowAt(scene, y);
    const ranks = (row !== undefined && x >= scene.gutter && scene.rows[row]?.ranks) || [];
    const moment = momentAt(scene, x);
    if (scene.calls && row !== undefined && ranks.length > 0) then(callAt(scene, row, moment, y));
    else if (ranks.length !== 1 || !source.live) then(undefined);
    else {
        const cell = lengthOf(scene.span) / (scene.width - scene.gutter);
        const wanted = { from: Math.ceil(moment + cell), back: true, ranks: write(ranks) };
        control.find(wanted, (found) => then(found && found.leave >= moment - cell ? found : undefined));
    }
}

