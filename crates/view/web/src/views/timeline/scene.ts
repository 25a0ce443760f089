// What is drawn, as values: which stretch of time, which rows, how large, and what stands out. Canvas and saved picture draw the same scene.

import { type Call, cellOf, type Message, type Picture, type Row } from './answers';
import { covers, lengthOf, same, type Span, touches } from './span';

/** Room for the names of the rows, and for the axis, in pixels on usual screens. */
export const GUTTER = 88;
export const AXIS = 26;

export interface Scene {
    span: Span;
    width: number;
    height: number;
    /** How many times as large as usual letters are, and the room that they have: for names of rows, and for the axis. */
    larger: number;
    gutter: number;
    axis: number;
    rows: Row[];
    kinds: string[];
    /** The coarsest first; each is drawn over the ones before. */
    pictures: Picture[];
    /** All calls of the window, where they are few. */
    calls: Call[] | undefined;
    messages: Message[] | undefined;
    /** Kinds that are not shown. */
    off: Set<string>;
    showsWaiting: boolean;
    showsPath: boolean;
    /** Ranks, call sites and an operation that stand out. */
    ranks: Set<number> | undefined;
    sites: number[] | undefined;
    operation: string | undefined;
    /** The call whose details are shown. */
    chosen: Chosen | undefined;
}

/** A call, known by its rank and the moment it was entered. */
export interface Chosen {
    rank: number;
    enter: number;
    leave: number | undefined;
}

export const rowHeight = ({ height, axis, rows }: Scene): number => (height - axis) / Math.max(1, rows.length);
export const xOf = ({ span, gutter, width }: Scene, moment: number): number => gutter + ((moment - span.from) / lengthOf(span)) * (width - gutter);
export const yOf = (scene: Scene, row: number): number => scene.axis + row * rowHeight(scene);
export const momentAt = ({ span, gutter, width }: Scene, x: number): number =>
    span.from + ((x - gutter) / Math.max(1, width - gutter)) * lengthOf(span);

/** The number of the row at a height, if there is one. */
export function rowAt(scene: Scene, y: number): number | undefined {
    const row = Math.floor((y - scene.axis) / rowHeight(scene));
    return row >= 0 && row < scene.rows.length ? row : undefined;
}

/** The row of each rank. */
export function rowOfRank(rows: Row[]): Map<number, number> {
    return new Map(rows.flatMap((row, at) => row.ranks.map((rank) => [rank, at] as const)));
}

/** Of all pictures, the one of this window, or else the finest that shows all of it. */
export function best(pictures: Picture[], span: Span): Picture | undefined {
    const whole = pictures.filter((one) => covers(one.span, span) || same(one.asked, span)).sort((one, other) => cellOf(one) - cellOf(other));
    return whole.find((one) => same(one.asked, span)) ?? whole[0];
}

/** Those to draw, the coarsest first: the best, and until that of this window has come also finer ones that show a part of it. */
export function layers(pictures: Picture[], span: Span): Picture[] {
    const ground = best(pictures, span);
    if (ground && same(ground.asked, span)) return [ground];
    const finer = pictures.filter((one) => one !== ground && touches(one.span, span) && (!ground || cellOf(one) < cellOf(ground)));
    finer.sort((one, other) => cellOf(other) - cellOf(one));
    return [...(ground ? [ground] : []), ...finer.slice(-4)];
}

const lanes = new WeakMap<Call[], Map<number, number>>();

/** How many lanes the row of each rank has where single calls are drawn: one for each of its threads. */
export function lanesOf(calls: Call[]): Map<number, number> {
    const known = lanes.get(calls);
    if (known) return known;
    const found = new Map<number, number>();
    for (const { rank, thread } of calls) found.set(rank, Math.max(found.get(rank) ?? 1, thread + 1));
    lanes.set(calls, found);
    return found;
}

/** The call at a moment and a height of a row, if the calls are known. */
export function callAt(scene: Scene, row: number, moment: number, y: number): Call | undefined {
    const { calls = [], kinds, off } = scene;
    const ranks = scene.rows[row]?.ranks ?? [];
    const slack = (1.5 * lengthOf(scene.span)) / Math.max(1, scene.width - scene.gutter);
    const depth = (y - yOf(scene, row)) / rowHeight(scene);
    const isHere = ({ rank, thread, kind }: Call) =>
        ranks.includes(rank) && thread === Math.floor(depth * (lanesOf(calls).get(rank) ?? 1)) && !off.has(kinds[kind] ?? '');
    const near = calls.filter((call) => call.enter - slack <= moment && call.leave + slack >= moment && isHere(call));
    const distance = (call: Call) => Math.max(call.enter - moment, moment - call.leave, 0);
    return near.sort((one, other) => distance(one) - distance(other) || one.leave - one.enter - (other.leave - other.enter))[0];
}

/** Whether a call stands out, or everything does. */
export function standsOut(scene: Scene, call: Call): boolean {
    return (scene.sites?.includes(call.site) ?? true) && (scene.operation === undefined || call.operation === scene.operation);
}

/** How much of the window's time each kind took, over all rows; `mixed` is what fell into cells that another kind had most of. */
export interface Shares {
    kinds: number[];
    mixed: number;
    waiting: number | undefined;
    path: number | undefined;
}

export function shares(picture: Picture, span: Span): Shares {
    const first = Math.max(0, Math.floor((span.from - picture.span.from) / cellOf(picture)));
    const last = Math.min(picture.columns, Math.ceil((span.to - picture.span.from) / cellOf(picture)));
    const kinds = picture.kinds.map(() => 0);
    const sums = { waiting: 0, path: 0 };
    let cells = 0;
    for (let row = 0; row < picture.rows.length; row++) {
        for (let cell = row * picture.columns + first; cell < row * picture.columns + last; cell++) {
            const kind = picture.kind[cell] ?? 0;
            kinds[kind] = (kinds[kind] ?? 0) + (picture.share[cell] ?? 0);
            sums.waiting += picture.waiting?.[cell] ?? 0;
            sums.path += picture.path?.[cell] ?? 0;
            cells++;
        }
    }
    const all = Math.max(1, 255 * cells);
    const known = kinds.map((sum) => sum / all);
    return {
        kinds: known,
        mixed: cells > 0 ? Math.max(0, 1 - known.reduce((sum, share) => sum + share, 0)) : 0,
        waiting: picture.waiting && sums.waiting / all,
        path: picture.path && sums.path / all,
    };
}
