// Where OpenMP regions are drawn: in the rows of their threads, as far as they are wide enough to be seen.

import { rowGap } from './row-gap';
import { rowHeight, rowToY, type Scene, timeToX } from './scene';
import { type Region, type RegionTimes, regionParts } from './thread-regions';

/** Narrower regions are drawn as cells only. */
const MIN_WIDTH = 3;

/** A rectangle in the colour of an activity. */
export interface RegionRect {
    x: number;
    y: number;
    width: number;
    height: number;
    kind: string;
}

/** A region in the row of one of its threads. */
export interface RegionBox {
    region: Region;
    thread: number;
    x: number;
    y: number;
    width: number;
    height: number;
    rects: RegionRect[];
}

const laneKey = (rank: number, mpiThread: number, thread: number): string => `${rank} ${mpiThread} ${thread}`;

/** Rows by rank, thread that calls MPI, and number in its team. Empty if rows are not threads. */
export function rowsByThread({ rows }: Pick<Scene, 'rows'>): (rank: number, mpiThread: number, thread: number) => number | undefined {
    const found = new Map(rows.map(({ ranks, lane }, row) => [lane ? laneKey(ranks[0] ?? -1, lane.mpiThread, lane.thread) : '', row]));
    return (rank, mpiThread, thread) => found.get(laneKey(rank, mpiThread, thread));
}

/** The boxes of the window. Executions that were summed up have none: when each of them was is not known. */
export function regionBoxes(scene: Scene): RegionBox[] {
    const rowOf = rowsByThread(scene);
    const height = rowHeight(scene) - rowGap(rowHeight(scene));
    return (scene.regions ?? []).flatMap((region) => {
        const [x, end] = [timeToX(scene, region.begin), timeToX(scene, region.end)];
        if (region.executions !== 1 || end - x < MIN_WIDTH || region.end < scene.span.from || region.begin > scene.span.to) return [];
        return region.threads.flatMap((times, thread) => {
            const row = rowOf(region.rank, region.mpiThread, thread);
            if (row === undefined) return [];
            const y = rowToY(scene, row);
            return { region, thread, x, y, width: end - x, height, rects: partRects(scene, region, times, y, height) };
        });
    });
}

/** The shares of a part lie above each other. */
function partRects(scene: Scene, region: Region, times: RegionTimes, y: number, height: number): RegionRect[] {
    return regionParts(region, times).flatMap(({ from, to, shares }) => {
        const x = Math.max(scene.gutter, timeToX(scene, from));
        const width = Math.min(scene.width, timeToX(scene, to)) - x;
        let top = y;
        return shares.flatMap(([kind, share]) => {
            const rect = { x, y: top, width, height: share * height, kind };
            top += rect.height;
            return width > 0 && !scene.hiddenKinds.has(kind) ? rect : [];
        });
    });
}

/** Executions that were summed up are only named where they take at least this share of their span. */
const MIN_DENSITY = 0.1;

/** The region at a time in the row of a thread: an execution, otherwise the densest of those that were summed up there. */
export function regionAt(scene: Scene, row: number, time: number): { region: Region; thread: number } | undefined {
    const { ranks, lane } = scene.rows[row] ?? { ranks: [], lane: undefined };
    if (!lane) return undefined;
    const isHere = ({ rank, mpiThread, begin, end, threads }: Region) =>
        rank === ranks[0] && mpiThread === lane.mpiThread && begin <= time && time < end && lane.thread < threads.length;
    const density = ({ executions, duration, begin, end }: Region) => (executions === 1 ? 2 : duration / Math.max(1, end - begin));
    const found = (scene.regions ?? []).filter((region) => isHere(region) && density(region) >= MIN_DENSITY);
    const [region] = found.sort((one, other) => density(other) - density(one));
    return region && { region, thread: lane.thread };
}
