// Draws the matrix: cells, labels, and the sums of rows and columns as bars at its edges.

import { growth } from '../../charts/growth';
import type { Pen } from '../../charts/pen';
import { amount, type Matrix, type Pair } from './matrix';
import type { Ramp } from './ramp';
import type { Window } from './window';

/** Where things are, in pixels. */
export interface Layout {
    left: number;
    top: number;
    /** The side of the square of cells. */
    side: number;
    width: number;
    height: number;
}

export interface Colours {
    ground: string;
    raised: string;
    line: string;
    text: string;
    quiet: string;
    accent: string;
}

export interface Marks {
    /** Labels whose ranks are selected. */
    selected: Set<number>;
    /** The cell that is pointed at. */
    cursor: { from: number; to: number } | undefined;
}

const BARS = 58;
const LETTER = 7.2;
const LARGEST_CELL = 96;
const LEAST_SIDE = 160;
const LABEL_EVERY = 16;
const VALUE_FROM = 62;
const TITLE = 20;

export function layoutOf(width: number, tallest: number, labels: string[]): Layout {
    const longest = labels.reduce((most, label) => Math.max(most, label.length), 1);
    const margin = growth() * Math.max(60, Math.min(130, 14 + LETTER * longest) + TITLE);
    const room = Math.max(LEAST_SIDE, Math.min(width - margin - BARS, tallest - margin - BARS));
    const side = Math.min(room, Math.max(LEAST_SIDE, labels.length * LARGEST_CELL));
    return { left: margin, top: margin, side, width: margin + side + BARS, height: margin + side + BARS };
}

export interface Drawn {
    matrix: Matrix;
    ramp: Ramp;
    window: Window;
    layout: Layout;
    colours: Colours;
}

/** Where cells are, on whole pixels: or small cells would blur into each other. */
function places({ window, layout }: Drawn) {
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

const isSeen = (at: number, first: number, span: number): boolean => at + 1 > first && at < first + span;

/** Pairs of which something is seen. */
export const seenPairs = ({ matrix, window }: Drawn) =>
    matrix.pairs.filter(({ from, to, value }) => value > 0 && isSeen(from, window.y, window.span) && isSeen(to, window.x, window.span));

export function drawCells(pen: Pen, drawn: Drawn): void {
    const { matrix, ramp, layout, colours } = drawn;
    const { cell, x, y, wide, high } = places(drawn);
    const { left, top, side } = layout;
    pen.inside(left, top, side, side, () => {
        pen.box(left, top, side, side, colours.raised);
        const seen = seenPairs(drawn);
        // All cells of a colour after each other, which is much quicker where there are many.
        const byColour: Pair[][] = ramp.steps.map(() => []);
        for (const pair of seen) byColour[ramp.step(pair.value)]?.push(pair);
        byColour.forEach((pairs, step) => {
            const colour = ramp.steps[step] ?? '';
            for (const { from, to } of pairs) pen.box(x(to), y(from), wide(to), high(from), colour);
        });
        if (cell < VALUE_FROM * growth()) return;
        for (const { from, to, value } of seen) {
            const colour = ramp.isLight(value) ? '#000000' : '#ffffff';
            pen.text(x(to) + cell / 2, y(from) + cell / 2, amount(matrix.unit, value), { colour, anchor: 'middle' });
        }
    });
}

/** Everything around the cells. */
export function drawAround(pen: Pen, drawn: Drawn, marks: Marks): void {
    const { layout, colours } = drawn;
    const { x, y, wide, high } = places(drawn);
    const { left, top, side } = layout;
    const { cursor } = marks;
    if (cursor) pen.inside(left, top, side, side, () => pen.frame(x(cursor.to), y(cursor.from), wide(cursor.to), high(cursor.from), colours.text, 2));
    pen.frame(left - 0.5, top - 0.5, side + 1, side + 1, colours.line, 1);
    pen.inside(left, top - 3, side, 3, () => marks.selected.forEach((at) => pen.box(x(at), top - 3, wide(at), 3, colours.accent)));
    pen.inside(left - 3, top, 3, side, () => marks.selected.forEach((at) => pen.box(left - 3, y(at), 3, high(at), colours.accent)));
    drawLabels(pen, drawn, marks);
    drawSums(pen, drawn);
}

function drawLabels(pen: Pen, drawn: Drawn, { selected, cursor }: Marks): void {
    const { matrix, window, layout, colours } = drawn;
    const { left, top, side } = layout;
    const { cell } = places(drawn);
    const every = Math.ceil((LABEL_EVERY * growth()) / cell);
    const middle = (at: number, first: number) => (at + 0.5 - first) * cell;
    const draw = (at: number, first: number, end: number | undefined, put: (along: number, look: { colour: string; bold: boolean }) => void) => {
        const along = middle(at, first);
        const bold = selected.has(at) || end === at;
        // The label that is pointed at has room.
        const hasRoom = end === at || (at % every === 0 && (end === undefined || Math.abs(at - end) >= every));
        if (along >= 0 && along <= side && hasRoom) put(along, { colour: bold ? colours.accent : colours.text, bold });
    };
    matrix.answer.labels.forEach((label, at) => {
        const short = label.length > 17 ? `${label.slice(0, 16)}…` : label;
        draw(at, window.y, cursor?.from, (along, look) => pen.text(left - 5, top + along, short, { ...look, anchor: 'end' }));
        draw(at, window.x, cursor?.to, (along, look) => pen.text(left + along, top - 5, short, { ...look, upwards: true }));
    });
    pen.text(left + side / 2, 8, 'to (receives)', { colour: colours.quiet, anchor: 'middle' });
    pen.text(8, top + side / 2, 'from (sends)', { colour: colours.quiet, anchor: 'middle', upwards: true });
}

function drawSums(pen: Pen, drawn: Drawn): void {
    const { matrix, layout, colours } = drawn;
    const { left, top, side } = layout;
    const { x, y, wide, high } = places(drawn);
    const most = Math.max(...matrix.sent, ...matrix.received, Number.MIN_VALUE);
    const length = (value: number) => ((BARS - 10) * value) / most;
    pen.inside(left + side, top, BARS, side, () => {
        matrix.sent.forEach((value, from) => value > 0 && pen.box(left + side + 4, y(from), length(value), high(from), colours.quiet));
    });
    pen.inside(left, top + side, side, BARS, () => {
        matrix.received.forEach((value, to) => value > 0 && pen.box(x(to), top + side + 4, wide(to), length(value), colours.quiet));
    });
    pen.text(left + side + 4, top - 8, 'sent', { colour: colours.quiet });
    pen.text(left - 5, top + side + 10, 'received', { colour: colours.quiet, anchor: 'end' });
}
