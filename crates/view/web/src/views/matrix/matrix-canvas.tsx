// The matrix on a canvas, with mouse and keyboard navigation.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { canvasRenderer } from '../../charts/renderer';
import { useWidth } from '../../charts/use-width';
import { isPageShortcut } from '../../shell/page-shortcut';
import type { ColourRamp } from './colour-ramp';
import { drawCells, drawFrame, type MatrixColours, type MatrixDrawing, type MatrixLayout, matrixLayout } from './draw-matrix';
import type { Matrix } from './matrix';
import { type MatrixWindow, scrollToCell, wholeMatrix, zoomWindow } from './matrix-window';

export interface Cell {
    from: number;
    to: number;
}

interface Props {
    matrix: Matrix;
    ramp: ColourRamp;
    colours: MatrixColours;
    selected: Set<number>;
    window: MatrixWindow;
    move: (window: MatrixWindow) => void;
    cursor: Cell | undefined;
    point: (cell: Cell | undefined) => void;
    choose: (cell: Cell) => void;
}

/** At least one pixel for each of 512 labels. */
const MIN_HEIGHT = 640;
const MAX_HEIGHT = 1100;
const ZOOM_STEP = 1.25;
/** Per pixel of scrolling; trackpads send many small steps. */
const WHEEL_ZOOM = 1.002;

/** Maximum height, so that the matrix and its controls fit on the screen. */
export const maxMatrixHeight = (): number => Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, innerHeight - 190));

export function MatrixCanvas(props: Props) {
    const { matrix, ramp, colours, selected, window, move, cursor, point, choose } = props;
    const [container, width] = useWidth<HTMLDivElement>();
    const canvas = useRef<HTMLCanvasElement>(null);
    /** Cached cells and what they were drawn from, so that pointer moves do not redraw them. */
    const cells = useRef<{ key: unknown[]; layer: HTMLCanvasElement } | undefined>(undefined);
    const [drag, setDrag] = useState<{ x: number; y: number; from: MatrixWindow; moved: boolean }>();
    const layout = matrixLayout(width, maxMatrixHeight(), matrix.answer.labels);
    useLayoutEffect(() => {
        const context = canvas.current?.getContext('2d');
        if (!canvas.current || !context || width <= 0) return;
        const pixelRatio = devicePixelRatio || 1;
        canvas.current.width = Math.round(layout.width * pixelRatio);
        canvas.current.height = Math.round(layout.height * pixelRatio);
        const drawn = { matrix, ramp, window, layout, colours };
        const key = [matrix, ramp, window.x, window.y, window.span, layout.width, layout.height, pixelRatio];
        if (cells.current?.key.some((part, index) => part !== key[index]) ?? true)
            cells.current = { key, layer: renderCells(drawn, canvas.current, pixelRatio) };
        if (cells.current) context.drawImage(cells.current.layer, 0, 0);
        context.scale(pixelRatio, pixelRatio);
        drawFrame(canvasRenderer(context), drawn, { selected, cursor });
    });
    useWheel(canvas, (event) => {
        const { x, y } = labelPosition(event, layout, window);
        if (event.deltaY < 0 || (event.deltaY > 0 && window.span < matrix.size)) {
            event.preventDefault();
            move(zoomWindow(window, WHEEL_ZOOM ** event.deltaY, x, y, matrix.size));
        }
    });
    const cellAt = (event: MouseEvent): Cell | undefined => {
        const { x, y, inside } = labelPosition(event, layout, window);
        return inside ? { from: Math.floor(y), to: Math.floor(x) } : undefined;
    };
    const onMouseMove = (event: MouseEvent) => {
        if (!drag) return point(cellAt(event));
        const cell = layout.side / window.span;
        const hasMoved = drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 4;
        if (hasMoved) move({ ...drag.from, x: drag.from.x - (event.offsetX - drag.x) / cell, y: drag.from.y - (event.offsetY - drag.y) / cell });
        if (hasMoved !== drag.moved) setDrag({ ...drag, moved: hasMoved });
    };
    const onMouseUp = (event: MouseEvent) => {
        const cell = cellAt(event);
        if (drag && !drag.moved && cell) choose(cell);
        setDrag(undefined);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (!isPageShortcut(event)) return;
        const at = cursor ?? { from: Math.floor(window.y), to: Math.floor(window.x) };
        const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
        const step = steps[event.key];
        const inside = (value: number) => Math.min(Math.max(value, 0), matrix.size - 1);
        if (step) {
            const next = cursor ? { from: inside(at.from + step[0]), to: inside(at.to + step[1]) } : at;
            point(next);
            move(scrollToCell(window, next.from, next.to, matrix.size));
        } else if (event.key === '+' || event.key === '=') move(zoomWindow(window, 1 / ZOOM_STEP, at.to + 0.5, at.from + 0.5, matrix.size));
        else if (event.key === '-') move(zoomWindow(window, ZOOM_STEP, at.to + 0.5, at.from + 0.5, matrix.size));
        else if (event.key === '0') move(wholeMatrix(matrix.size));
        else if (event.key === 'Enter') choose(at);
        else return;
        event.preventDefault();
    };
    return (
        <div ref={container} class="chart">
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas handles its own keys */}
            <canvas
                ref={canvas}
                class="matrix-canvas"
                style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
                tabIndex={0}
                role="application"
                aria-label="Communication matrix: arrow keys move between cells, Enter selects the ranks of a cell, plus and minus zoom"
                onMouseDown={(event) => event.button === 0 && setDrag({ x: event.offsetX, y: event.offsetY, from: window, moved: false })}
                onMouseMove={onMouseMove}
                onMouseUp={onMouseUp}
                onMouseLeave={() => {
                    setDrag(undefined);
                    point(undefined);
                }}
                onKeyDown={onKeyDown}
            />
        </div>
    );
}

function renderCells(drawing: MatrixDrawing, { width, height }: HTMLCanvasElement, pixelRatio: number): HTMLCanvasElement {
    const layer = document.createElement('canvas');
    [layer.width, layer.height] = [width, height];
    const context = layer.getContext('2d');
    context?.scale(pixelRatio, pixelRatio);
    if (context) drawCells(canvasRenderer(context), drawing);
    return layer;
}

/** A position in label units, and whether it is inside the matrix. */
function labelPosition(event: MouseEvent, { left, top, side }: MatrixLayout, window: MatrixWindow): { x: number; y: number; inside: boolean } {
    const [right, down] = [event.offsetX - left, event.offsetY - top];
    const inside = right >= 0 && down >= 0 && right < side && down < side;
    return { x: window.x + (right / side) * window.span, y: window.y + (down / side) * window.span, inside };
}

/** Wheel events; the listener must not be passive to prevent scrolling. */
function useWheel(canvas: { current: HTMLCanvasElement | null }, onWheel: (event: WheelEvent) => void): void {
    const latest = useRef(onWheel);
    latest.current = onWheel;
    useEffect(() => {
        const element = canvas.current;
        const listen = (event: WheelEvent) => latest.current(event);
        element?.addEventListener('wheel', listen, { passive: false });
        return () => element?.removeEventListener('wheel', listen);
    }, []);
}
