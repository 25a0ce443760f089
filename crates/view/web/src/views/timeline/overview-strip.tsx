// The whole run in a narrow strip with the window marked. Drag to change the window.

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { effectiveTheme } from '../../state/theme';
import { activityImage } from './raster-images';
import { durationOf } from './time-span';
import type { TimelineController } from './timeline-controller';

const HEIGHT = 34;

export function OverviewStrip({ controller }: { controller: TimelineController }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const dragStart = useRef<number | undefined>(undefined);
    useEffect(
        () =>
            effect(() => {
                void effectiveTheme.value;
                const raster = controller.queries.overview.value;
                const width = controller.viewport.value.width - controller.gutter.value;
                const context = canvas.current?.getContext('2d');
                if (!canvas.current || !context || !raster || width <= 0) return;
                const pixelRatio = devicePixelRatio || 1;
                canvas.current.width = Math.round(width * pixelRatio);
                canvas.current.height = Math.round(HEIGHT * pixelRatio);
                context.imageSmoothingEnabled = true;
                context.drawImage(activityImage(raster, controller.hiddenKinds.value, false), 0, 0, canvas.current.width, canvas.current.height);
            }),
        [controller],
    );
    const { whole, span, viewport, gutter } = controller;
    const width = Math.max(1, viewport.value.width - gutter.value);
    const xOf = (time: number) => ((time - whole.from) / durationOf(whole)) * width;
    const timeAt = (x: number) => whole.from + (x / width) * durationOf(whole);
    const left = xOf(span.value.from);
    const right = Math.max(left + 2, xOf(span.value.to));
    const center = (x: number) => {
        const half = durationOf(span.value) / 2;
        controller.showSpan({ from: timeAt(x) - half, to: timeAt(x) + half });
    };
    const xIn = (event: PointerEvent) => event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0);
    const onPointerDown = (event: PointerEvent) => {
        const x = xIn(event);
        dragStart.current = x;
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
        const isWhole = right - left > width - 2;
        if (!isWhole && x >= left && x <= right) dragStart.current = undefined;
    };
    const move = (event: PointerEvent) => {
        if (event.buttons !== 1) return;
        const x = xIn(event);
        if (dragStart.current === undefined) center(x);
        else if (Math.abs(x - dragStart.current) > 3) {
            const [from = 0, to = 0] = [dragStart.current, x].map(timeAt).sort((one, other) => one - other);
            controller.showSpan({ from, to });
        }
    };
    const onPointerUp = (event: PointerEvent) => {
        if (dragStart.current !== undefined && Math.abs(xIn(event) - dragStart.current) <= 3) center(xIn(event));
    };
    return (
        <div
            class="timeline-strip"
            style={{ marginLeft: `${gutter.value}px`, height: `${HEIGHT}px` }}
            onPointerDown={onPointerDown}
            onPointerMove={move}
            onPointerUp={onPointerUp}
        >
            <canvas ref={canvas} role="img" aria-label="The whole run, with the window marked" style={{ width: '100%', height: `${HEIGHT}px` }} />
            <div class="shade" style={{ left: 0, width: `${Math.max(0, left)}px` }} />
            <div class="shade" style={{ left: `${right}px`, right: 0 }} />
            <div class="frame" style={{ left: `${left}px`, width: `${right - left}px` }} />
        </div>
    );
}
