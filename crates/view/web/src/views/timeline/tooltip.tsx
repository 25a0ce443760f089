// Tooltip for the cell or call under the pointer.

import { bytes, count, nanoseconds, percent } from '../../units';
import { regionAt } from './region-boxes';
import { bestRaster, callAt, rowAt, type Scene, xToTime } from './scene';
import type { Region, RegionTimes } from './thread-regions';
import type { TimelineController } from './timeline-controller';
import { type Call, cellDuration } from './timeline-data';

export function Tooltip({ controller, x, y }: { controller: TimelineController; x: number; y: number }) {
    const scene = controller.scene.value;
    const row = rowAt(scene, y);
    if (x < scene.gutter || y < scene.axis || row === undefined) return null;
    const time = xToTime(scene, x);
    const call = callAt(scene, row, time, y);
    const found = call ? undefined : regionAt(scene, row, time);
    const lines = call ? callLines(call) : found ? regionLines(scene, found.region, found.thread) : cellLines(scene, row, time);
    if (lines.length === 0) return null;
    const isRight = x > scene.width - 260;
    const beside = isRight ? { right: `${scene.width - x + 12}px` } : { left: `${x + 12}px` };
    return (
        <div class="timeline-tooltip" role="presentation" style={{ ...beside, top: `${y + 14}px` }}>
            {lines.map((line) => (
                <div key={line}>{line}</div>
            ))}
        </div>
    );
}

function callLines(call: Call): string[] {
    const thread = call.thread > 0 ? `, thread ${call.thread}` : '';
    const lines = [`${call.operation} on rank ${call.rank}${thread}`, `${nanoseconds(call.leave - call.enter)} from ${nanoseconds(call.enter)}`];
    if (call.peer !== undefined) lines.push(`peer ${call.peer}`);
    if (call.sent > 0) lines.push(`sent ${bytes(call.sent)}`);
    if (call.received > 0) lines.push(`received ${bytes(call.received)}`);
    if (call.wait > 0) lines.push(`waited ${nanoseconds(call.wait)}${call.cause ? `: ${call.cause}` : ''}`);
    return lines;
}

const REGION_ACTIVITIES: [keyof RegionTimes, string][] = [
    ['useful', 'computed'],
    ['atEnd', 'waited at its end'],
    ['barrier', 'waited at barriers'],
    ['lock', 'waited for locks'],
    ['mpi', 'in MPI'],
    ['start', 'until it began'],
    ['other', 'otherwise in the runtime'],
];

function regionLines(scene: Scene, region: Region, thread: number): string[] {
    const { rank, executions, begin, end, duration, threads, isUnfinished } = region;
    const times = threads[thread];
    const long =
        executions === 1 ? nanoseconds(duration) : `${count(executions)} executions, ${nanoseconds(duration)} in ${nanoseconds(end - begin)}`;
    const share = (activity: keyof RegionTimes) => (times?.[activity] ?? 0) / Math.max(1, duration);
    return [
        `parallel region ${scene.regionName(region.site)}`,
        `rank ${rank}, thread ${thread} of ${threads.length}`,
        `${long} from ${nanoseconds(begin)}${isUnfinished ? ', unfinished' : ''}`,
        ...REGION_ACTIVITIES.filter(([activity]) => share(activity) >= 0.005).map(([activity, name]) => `${name} ${percent(share(activity))}`),
    ];
}

function cellLines(scene: Scene, row: number, time: number): string[] {
    const raster = bestRaster(scene.rasters, scene.span);
    if (!raster) return [];
    const column = Math.floor((time - raster.span.from) / cellDuration(raster));
    if (column < 0 || column >= raster.columns) return [];
    const cell = row * raster.columns + column;
    const share = (plane: Uint8Array | undefined) => (plane?.[cell] ?? 0) / 255;
    const label = raster.rows[row]?.label ?? '';
    const kind = raster.kinds[raster.kind[cell] ?? 0] ?? '';
    const lines = [
        `${/^\d/.test(label) ? 'rank ' : ''}${label} at ${nanoseconds(time)}`,
        `${kind} ${percent(share(raster.share))} of ${nanoseconds(cellDuration(raster))}`,
    ];
    if (share(raster.waiting) > 0.005) lines.push(`waiting ${percent(share(raster.waiting))}`);
    if (share(raster.noCore) > 0.005) lines.push(`without a core ${percent(share(raster.noCore))}`);
    if (share(raster.path) > 0.005) lines.push(`critical path ${percent(share(raster.path))}`);
    return lines;
}
