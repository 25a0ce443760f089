// The matrix on a canvas: pointed at and clicked with the mouse, or walked through with the keys.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { canvasPen } from '../../charts/pen';
import { useWidth } from '../../charts/width';
import { isOurs } from '../../shell/ours';
import { type Colours, type Drawn, drawAround, drawCells, type Layout, layoutOf } from './drawing';
import type { Matrix } from './matrix';
import type { Ramp } from './ramp';
import { showing, type Window, whole, zoomed } from './window';

export interface Cell {
    from: number;
    to: number;
}

interface Props {
    matrix: Matrix;
    ramp: Ramp;
    colours: Colours;
    selected: Set<number>;
    window: Window;
    move: (window: Window) => void;
    cursor: Cell | undefined;
    point: (cell: Cell | undefined) => void;
    choose: (cell: Cell) => void;
}

/** A pixel for each of 512 labels, at least. */
const LEAST = 640;
const TALLEST = 1100;
const STEP = 1.25;
/** For each pixel that a wheel would scroll: trackpads turn it in many small steps. */
const WHEEL = 1.002;

/** How tall the matrix may be, so that it and its controls fit the screen. */
export const tallest = (): number => Math.min(TALLEST, Math.max(LEAST, innerHeight - 190));

export function Canvas(props: Props) {
    const { matrix, ramp, colours, selected, window, move, cursor, point, choose } = props;
    const [place, width] = useWidth<HTMLDivElement>();
    const canvas = useRef<HTMLCanvasElement>(null);
    /** The cells as they were drawn last, and from what: pointing at one does not draw all of them again. */
    const cells = useRef<{ key: unknown[]; layer: HTMLCanvasElement } | undefined>(undefined);
    const [drag, setDrag] = useState<{ x: number; y: number; from: Window; moved: boolean }>();
    const layout = layoutOf(width, tallest(), matrix.answer.labels);
    useLayoutEffect(() => {
        const context = canvas.current?.getContext('2d');
        if (!canvas.current || !context || width <= 0) return;
        const sharp = devicePixelRatio || 1;
        canvas.current.width = Math.round(layout.width * sharp);
        canvas.current.height = Math.round(layout.height * sharp);
        const drawn = { matrix, ramp, window, layout, colours };
        const key = [matrix, ramp, window.x, window.y, window.span, layout.width, layout.height, sharp];
        if (cells.current?.key.some((part, at) => part !== key[at]) ?? true) cells.current = { key, layer: layerOf(drawn, canvas.current, sharp) };
        if (cells.current) context.drawImage(cells.current.layer, 0, 0);
        context.scale(sharp, sharp);
        drawAround(canvasPen(context), drawn, { selected, cursor });
    });
    useWheel(canvas, (event) => {
        const { x, y } = position(event, layout, window);
        if (event.deltaY < 0 || (event.deltaY > 0 && window.span < matrix.size)) {
            event.preventDefault();
            move(zoomed(window, WHEEL ** event.deltaY, x, y, matrix.size));
        }
    });
    const cellAt = (event: MouseEvent): Cell | undefined => {
        const { x, y, inside } = position(event, layout, window);
        return inside ? { from: Math.floor(y), to: Math.floor(x) } : undefined;
    };
    const pan = (event: MouseEvent) => {
        if (!drag) return point(cellAt(event));
        const cell = layout.side / window.span;
        const moved = drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 4;
        if (moved) move({ ...drag.from, x: drag.from.x - (event.offsetX - drag.x) / cell, y: drag.from.y - (event.offsetY - drag.y) / cell });
        if (moved !== drag.moved) setDrag({ ...drag, moved });
    };
    const drop = (event: MouseEvent) => {
        const cell = cellAt(event);
        if (drag && !drag.moved && cell) choose(cell);
        setDrag(undefined);
    };
    const press = (event: KeyboardEvent) => {
        if (!isOurs(event)) return;
        const at = cursor ?? { from: Math.floor(window.y), to: Math.floor(window.x) };
        const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
        const step = steps[event.key];
        const inside = (value: number) => Math.min(Math.max(value, 0), matrix.size - 1);
        if (step) {
            const next = cursor ? { from: inside(at.from + step[0]), to: inside(at.to + step[1]) } : at;
            point(next);
            move(showing(window, next.from, next.to, matrix.size));
        } else if (event.key === '+' || event.key === '=') move(zoomed(window, 1 / STEP, at.to + 0.5, at.from + 0.5, matrix.size));
        else if (event.key === '-') move(zoomed(window, STEP, at.to + 0.5, at.from + 0.5, matrix.size));
        else if (event.key === '0') move(whole(matrix.size));
        else if (event.key === 'Enter') choose(at);
        else return;
        event.preventDefault();
    };
    return (
        <div ref={place} class="chart">
            <canvas
                ref={canvas}
                class="matrix-canvas"
                style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
                tabIndex={0}
                role="application"
                aria-label="Communication matrix: arrow keys go from cell to cell, Enter selects the ranks of one, plus and minus zoom"
                onMouseDown={(event) => event.button === 0 && setDrag({ x: event.offsetX, y: event.offsetY, from: window, moved: false })}
                onMouseMove={pan}
                onMouseUp={drop}
                onMouseLeave={() => {
                    setDrag(undefined);
                    point(undefined);
                }}
                onKeyDown={press}
            />
        </div>
    );
}

function layerOf(drawn: Drawn, { width, height }: HTMLCanvasElement, sharp: number): HTMLCanvasElement {
    const layer = document.createElement('canvas');
    [layer.width, layer.height] = [width, height];
    const context = layer.getContext('2d');
    context?.scale(sharp, sharp);
    if (context) drawCells(canvasPen(context), drawn);
    return layer;
}

/** A point in labels, and whether it is in the matrix. */
function position(event: MouseEvent, { left, top, side }: Layout, window: Window): { x: number; y: number; inside: boolean } {
    const [right, down] = [event.offsetX - left, event.offsetY - top];
    const inside = right >= 0 && down >= 0 && right < side && down < side;
    return { x: window.x + (right / side) * window.span, y: window.y + (down / side) * window.span, inside };
}

/** The wheel, which may keep the page from scrolling only if it says so when it is listened to. */
function useWheel(canvas: { current: HTMLCanvasElement | null }, turn: (event: WheelEvent) => void): void {
    const latest = useRef(turn);
    latest.current = turn;
    useEffect(() => {
        const element = canvas.current;
        const listen = (event: WheelEvent) => latest.current(event);
        element?.addEventListener('wheel', listen, { passive: false });
        return () => element?.removeEventListener('wheel', listen);
    }, []);
}
