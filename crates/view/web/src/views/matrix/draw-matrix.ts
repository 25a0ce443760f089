// Draws the matrix: cells, labels, and row and column sums as bars at the edges.

import { fontScale } from '../../charts/font-scale';
import type { Renderer } from '../../charts/renderer';
import type { ColourRamp } from './colour-ramp';
import { formatAmount, type Matrix, type Pair } from './matrix';
import type { MatrixWindow } from './matrix-window';

/** Geometry in pixels. */
export interface MatrixLayout {
    left: number;
    top: number;
    /** Side of the square of cells. */
    side: number;
    width: number;
    height: number;
}

export interface MatrixColours {
    background: string;
    surface: string;
    line: string;
    text: string;
    muted: string;
    accent: string;
}

export interface MatrixMarks {
    /** Labels whose ranks are selected. */
    selected: Set<number>;
    /** The cell under the pointer. */
    cursor: { from: number; to: number } | undefined;
}

const BAR_LENGTH = 58;
const CHAR_WIDTH = 7.2;
const MAX_CELL = 96;
const MIN_SIDE = 160;
const LABEL_SPACING = 16;
const MIN_CELL_FOR_VALUE = 62;
const TITLE_WIDTH = 20;

export function matrixLayout(width: number, tallest: number, labels: string[]): MatrixLayout {
    const longest = labels.reduce((max, label) => Math.max(max, label.length), 1);
    const margin = fontScale() * Math.max(60, Math.min(130, 14 + CHAR_WIDTH * longest) + TITLE_WIDTH);
    const available = Math.max(MIN_SIDE, Math.min(width - margin - BAR_LENGTH, tallest - margin - BAR_LENGTH));
    const side = Math.min(available, Math.max(MIN_SIDE, labels.length * MAX_CELL));
    return { left: margin, top: margin, side, width: margin + side + BAR_LENGTH, height: margin + side + BAR_LENGTH };
}

export interface MatrixDrawing {
    matrix: Matrix;
    ramp: ColourRamp;
    window: MatrixWindow;
    layout: MatrixLayout;
    colours: MatrixColours;
}

/** Cells are aligned to whole pixels, so that small ones do not blur. */
function cellGeometry({ window, layout }: MatrixDrawing) {
    const { left, top, side } = layout;
    const cell = side / window.span;
    const x = (to: number) => Math.round(left + (to - window.x) * cell);
    const y = (from: number) => Math.round(top + (from - window.y) * cell);
    const gap = cell >= 6 ? 1 : 0;
    return {
        cell,
        x,
        y,
        wide: (to: number) => Math.max(1, x(to + 1) - x(to) - gap),
        high: (from: number) => Math.max(1, y(from + 1) - y(from) - gap),
    };
}

const isVisible = (index: number, first: number, span: number): boolean => index + 1 > first && index < first + span;

/** Pairs with a visible cell. */
export const visiblePairs = ({ matrix, window }: MatrixDrawing) =>
    matrix.pairs.filter(({ from, to, value }) => value > 0 && isVisible(from, window.y, window.span) && isVisible(to, window.x, window.span));

export function drawCells(renderer: Renderer, drawing: MatrixDrawing): void {
    const { matrix, ramp, layout, colours } = drawing;
    const { cell, x, y, wide, high } = cellGeometry(drawing);
    const { left, top, side } = layout;
    renderer.clipped(left, top, side, side, () => {
        renderer.box(left, top, side, side, colours.surface);
        const seen = visiblePairs(drawing);
        // Grouped by colour, which is much faster for many cells.
        const byColour: Pair[][] = ramp.steps.map(() => []);
        for (const pair of seen) byColour[ramp.step(pair.value)]?.push(pair);
        byColour.forEach((pairs, step) => {
            const colour = ramp.steps[step] ?? '';
            for (const { from, to } of pairs) renderer.box(x(to), y(from), wide(to), high(from), colour);
        });
        if (cell < MIN_CELL_FOR_VALUE * fontScale()) return;
        for (const { from, to, value } of seen) {
            const colour = ramp.isLight(value) ? '#000000' : '#ffffff';
            renderer.text(x(to) + cell / 2, y(from) + cell / 2, formatAmount(matrix.unit, value), { colour, anchor: 'middle' });
        }
    });
}

/** Draws everything around the cells. */
export function drawFrame(renderer: Renderer, drawing: MatrixDrawing, marks: MatrixMarks): void {
    const { layout, colours } = drawing;
    const { x, y, wide, high } = cellGeometry(drawing);
    const { left, top, side } = layout;
    const { cursor } = marks;
    if (cursor)
        renderer.clipped(left, top, side, side, () =>
            renderer.frame(x(cursor.to), y(cursor.from), wide(cursor.to), high(cursor.from), colours.text, 2),
        );
    renderer.frame(left - 0.5, top - 0.5, side + 1, side + 1, colours.line, 1);
    renderer.clipped(left, top - 3, side, 3, () => {
        for (const index of marks.selected) renderer.box(x(index), top - 3, wide(index), 3, colours.accent);
    });
    renderer.clipped(left - 3, top, 3, side, () => {
        for (const index of marks.selected) renderer.box(left - 3, y(index), 3, high(index), colours.accent);
    });
    drawLabels(renderer, drawing, marks);
    drawSums(renderer, drawing);
}

function drawLabels(renderer: Renderer, drawing: MatrixDrawing, { selected, cursor }: MatrixMarks): void {
    const { matrix, window, layout, colours } = drawing;
    const { left, top, side } = layout;
    const { cell } = cellGeometry(drawing);
    const every = Math.ceil((LABEL_SPACING * fontScale()) / cell);
    const middle = (index: number, first: number) => (index + 0.5 - first) * cell;
    const draw = (index: number, first: number, end: number | undefined, put: (along: number, style: { colour: string; bold: boolean }) => void) => {
        const along = middle(index, first);
        const bold = selected.has(index) || end === index;
        // The label under the pointer is always shown.
        const hasRoom = end === index || (index % every === 0 && (end === undefined || Math.abs(index - end) >= every));
        if (along >= 0 && along <= side && hasRoom) put(along, { colour: bold ? colours.accent : colours.text, bold });
    };
    matrix.answer.labels.forEach((label, index) => {
        const short = label.length > 17 ? `${label.slice(0, 16)}…` : label;
        draw(index, window.y, cursor?.from, (along, style) => renderer.text(left - 5, top + along, short, { ...style, anchor: 'end' }));
        draw(index, window.x, cursor?.to, (along, style) => renderer.text(left + along, top - 5, short, { ...style, vertical: true }));
    });
    renderer.text(left + side / 2, 8, 'receiver', { colour: colours.muted, anchor: 'middle' });
    renderer.text(8, top + side / 2, 'sender', { colour: colours.muted, anchor: 'middle', vertical: true });
}

function drawSums(renderer: Renderer, drawing: MatrixDrawing): void {
    const { matrix, layout, colours } = drawing;
    const { left, top, side } = layout;
    const { x, y, wide, high } = cellGeometry(drawing);
    const max = Math.max(...matrix.sent, ...matrix.received, Number.MIN_VALUE);
    const length = (value: number) => ((BAR_LENGTH - 10) * value) / max;
    renderer.clipped(left + side, top, BAR_LENGTH, side, () => {
        matrix.sent.forEach((value, from) => {
            if (value > 0) renderer.box(left + side + 4, y(from), length(value), high(from), colours.muted);
        });
    });
    renderer.clipped(left, top + side, side, BAR_LENGTH, () => {
        matrix.received.forEach((value, to) => {
            if (value > 0) renderer.box(x(to), top + side + 4, wide(to), length(value), colours.muted);
        });
    });
    renderer.text(left + side + 4, top - 8, 'sent', { colour: colours.muted });
    renderer.text(left - 5, top + side + 10, 'received', { colour: colours.muted, anchor: 'end' });
}
