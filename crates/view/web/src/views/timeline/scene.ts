// What is drawn, as plain data: time span, rows, size and highlights. Canvas and SVG export draw the same scene.

import type { Region } from './thread-regions';
import { covers, durationOf, isSameSpan, overlaps, type TimeSpan } from './time-span';
import { type Call, cellDuration, type Message, type Raster, type RasterRow } from './timeline-data';

/** Width of the row labels and height of the axis, in pixels at the default font scale. */
export const GUTTER = 88;
export const AXIS = 26;

export interface Scene {
    span: TimeSpan;
    width: number;
    height: number;
    /** Font scale, and the resulting width of the row labels and height of the axis. */
    fontScale: number;
    gutter: number;
    axis: number;
    rows: RasterRow[];
    kinds: string[];
    /** Coarsest first; each is drawn over the previous ones. */
    rasters: Raster[];
    /** All calls of the window, if there are few. */
    calls: Call[] | undefined;
    messages: Message[] | undefined;
    /** OpenMP regions, if each thread has a row; the longest if there are many. */
    regions: Region[] | undefined;
    /** Where a region is in the source, by its call site. */
    regionName: (site: number) => string;
    hiddenKinds: Set<string>;
    showsWaiting: boolean;
    showsNoCore: boolean;
    showsPath: boolean;
    /** Highlighted ranks, call sites and operation. */
    ranks: Set<number> | undefined;
    sites: number[] | undefined;
    operation: string | undefined;
    /** The call whose details are shown. */
    selectedCall: SelectedCall | undefined;
}

/** A call, identified by its rank and enter time. */
export interface SelectedCall {
    rank: number;
    enter: number;
    leave: number | undefined;
}

export const rowHeight = ({ height, axis, rows }: Scene): number => (height - axis) / Math.max(1, rows.length);
export const timeToX = ({ span, gutter, width }: Scene, time: number): number => gutter + ((time - span.from) / durationOf(span)) * (width - gutter);
export const rowToY = (scene: Scene, row: number): number => scene.axis + row * rowHeight(scene);
export const xToTime = ({ span, gutter, width }: Scene, x: number): number =>
    span.from + ((x - gutter) / Math.max(1, width - gutter)) * durationOf(span);

/** The row at a vertical position. */
export function rowAt(scene: Scene, y: number): number | undefined {
    const row = Math.floor((y - scene.axis) / rowHeight(scene));
    return row >= 0 && row < scene.rows.length ? row : undefined;
}

/** The row of each rank; that of its first thread if each thread has one. */
export function rowsByRank(rows: RasterRow[]): Map<number, number> {
    const found = new Map<number, number>();
    rows.forEach((row, index) => {
        for (const rank of row.ranks) if (!found.has(rank)) found.set(rank, index);
    });
    return found;
}

/** Whether each thread has a row. */
export const hasThreadRows = ({ rows }: Pick<Scene, 'rows'>): boolean => rows[0]?.lane !== undefined;

/** The raster of this window, otherwise the finest that covers it. */
export function bestRaster(rasters: Raster[], span: TimeSpan): Raster | undefined {
    const whole = rasters
        .filter((one) => covers(one.span, span) || isSameSpan(one.requestedSpan, span))
        .sort((one, other) => cellDuration(one) - cellDuration(other));
    return whole.find((one) => isSameSpan(one.requestedSpan, span)) ?? whole[0];
}

/** Rasters to draw, coarsest first: the best one, and finer ones that cover a part until the one of this window has arrived. */
export function rasterLayers(rasters: Raster[], span: TimeSpan): Raster[] {
    const ground = bestRaster(rasters, span);
    if (ground && isSameSpan(ground.requestedSpan, span)) return [ground];
    const finer = rasters.filter((one) => one !== ground && overlaps(one.span, span) && (!ground || cellDuration(one) < cellDuration(ground)));
    finer.sort((one, other) => cellDuration(other) - cellDuration(one));
    return [...(ground ? [ground] : []), ...finer.slice(-4)];
}

const laneCache = new WeakMap<Call[], Map<number, number>>();

/** Number of lanes in the rows of ranks where single calls are drawn: one per thread. */
export function laneCounts({ calls = [], rows }: Pick<Scene, 'calls' | 'rows'>): Map<number, number> {
    return hasThreadRows({ rows }) ? new Map() : lanesOf(calls);
}

function lanesOf(calls: Call[]): Map<number, number> {
    const cached = laneCache.get(calls);
    if (cached) return cached;
    const found = new Map<number, number>();
    for (const { rank, thread } of calls) found.set(rank, Math.max(found.get(rank) ?? 1, thread + 1));
    laneCache.set(calls, found);
    return found;
}

/** The call at a time and a vertical position in a row, if calls are known. */
export function callAt(scene: Scene, row: number, time: number, y: number): Call | undefined {
    const { calls = [], kinds, hiddenKinds } = scene;
    const { ranks = [], lane } = scene.rows[row] ?? {};
    const slack = (1.5 * durationOf(scene.span)) / Math.max(1, scene.width - scene.gutter);
    const depth = (y - rowToY(scene, row)) / rowHeight(scene);
    const lanes = laneCounts(scene);
    const isInLane = ({ rank, thread }: Call) =>
        lane ? lane.thread === 0 && thread === lane.mpiThread : thread === Math.floor(depth * (lanes.get(rank) ?? 1));
    const isHere = (call: Call) => ranks.includes(call.rank) && isInLane(call) && !hiddenKinds.has(kinds[call.kind] ?? '');
    const near = calls.filter((call) => call.enter - slack <= time && call.leave + slack >= time && isHere(call));
    const distance = (call: Call) => Math.max(call.enter - time, time - call.leave, 0);
    return near.sort((one, other) => distance(one) - distance(other) || one.leave - one.enter - (other.leave - other.enter))[0];
}

/** Whether a call is highlighted; true if there is no highlight. */
export function isHighlighted(scene: Scene, call: Call): boolean {
    return (scene.sites?.includes(call.site) ?? true) && (scene.operation === undefined || call.operation === scene.operation);
}

/** Shares of the window's time per kind, over all rows; `mixed` is the share of kinds that are not dominant in their cell. */
export interface ActivityShares {
    kinds: number[];
    mixed: number;
    waiting: number | undefined;
    path: number | undefined;
    noCore: number | undefined;
}

export function activityShares(raster: Raster, span: TimeSpan): ActivityShares {
    const first = Math.max(0, Math.floor((span.from - raster.span.from) / cellDuration(raster)));
    const last = Math.min(raster.columns, Math.ceil((span.to - raster.span.from) / cellDuration(raster)));
    const kinds = raster.kinds.map(() => 0);
    const sums = { waiting: 0, path: 0, noCore: 0 };
    let cells = 0;
    for (let row = 0; row < raster.rows.length; row++) {
        for (let cell = row * raster.columns + first; cell < row * raster.columns + last; cell++) {
            const kind = raster.kind[cell] ?? 0;
            kinds[kind] = (kinds[kind] ?? 0) + (raster.share[cell] ?? 0);
            sums.waiting += raster.waiting?.[cell] ?? 0;
            sums.path += raster.path?.[cell] ?? 0;
            sums.noCore += raster.noCore?.[cell] ?? 0;
            cells++;
        }
    }
    const all = Math.max(1, 255 * cells);
    const known = kinds.map((sum) => sum / all);
    return {
        kinds: known,
        mixed: cells > 0 ? Math.max(0, 1 - known.reduce((sum, share) => sum + share, 0)) : 0,
        waiting: raster.waiting && sums.waiting / all,
        path: raster.path && sums.path / all,
        noCore: raster.noCore && sums.noCore / all,
    };
}
