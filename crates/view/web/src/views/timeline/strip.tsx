// The whole run in a narrow strip, with the window marked in it: dragging there shows another window.

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { look } from '../../state/theme';
import { ground } from './cells';
import type { Control } from './control';
import { lengthOf } from './span';

const HEIGHT = 34;

export function Strip({ control }: { control: Control }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const begun = useRef<number | undefined>(undefined);
    useEffect(
        () =>
            effect(() => {
                void look.value;
                const picture = control.asking.overview.value;
                const width = control.room.value.width - control.gutter.value;
                const context = canvas.current?.getContext('2d');
                if (!canvas.current || !context || !picture || width <= 0) return;
                const dots = devicePixelRatio || 1;
                canvas.current.width = Math.round(width * dots);
                canvas.current.height = Math.round(HEIGHT * dots);
                context.imageSmoothingEnabled = true;
                context.drawImage(ground(picture, control.off.value, false), 0, 0, canvas.current.width, canvas.current.height);
            }),
        [control],
    );
    const { whole, span, room, gutter } = control;
    const width = Math.max(1, room.value.width - gutter.value);
    const xOf = (moment: number) => ((moment - whole.from) / lengthOf(whole)) * width;
    const momentAt = (x: number) => whole.from + (x / width) * lengthOf(whole);
    const left = xOf(span.value.from);
    const right = Math.max(left + 2, xOf(span.value.to));
    const center = (x: number) => {
        const half = lengthOf(span.value) / 2;
        control.go({ from: momentAt(x) - half, to: momentAt(x) + half });
    };
    const xIn = (event: PointerEvent) => event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0);
    const down = (event: PointerEvent) => {
        const x = xIn(event);
        begun.current = x;
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
        const isWhole = right - left > width - 2;
        if (!isWhole && x >= left && x <= right) begun.current = undefined;
    };
    const move = (event: PointerEvent) => {
        if (event.buttons !== 1) return;
        const x = xIn(event);
        if (begun.current === undefined) center(x);
        else if (Math.abs(x - begun.current) > 3) {
            const [from = 0, to = 0] = [begun.current, x].map(momentAt).sort((one, other) => one - other);
            control.go({ from, to });
        }
    };
    const up = (event: PointerEvent) => {
        if (begun.current !== undefined && Math.abs(xIn(event) - begun.current) <= 3) center(xIn(event));
    };
    return (
        <div
            class="timeline-strip"
            style={{ marginLeft: `${gutter.value}px`, height: `${HEIGHT}px` }}
            onPointerDown={down}
            onPointerMove={move}
            onPointerUp={up}
        >
            <canvas ref={canvas} role="img" aria-label="The whole run, with the window marked" style={{ width: '100%', height: `${HEIGHT}px` }} />
            <div class="shade" style={{ left: 0, width: `${Math.max(0, left)}px` }} />
            <div class="shade" style={{ left: `${right}px`, right: 0 }} />
            <div class="frame" style={{ left: `${left}px`, width: `${right - left}px` }} />
        </div>
    );
}
