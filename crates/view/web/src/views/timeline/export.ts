// Exports the timeline as SVG and as a table; adjacent equal cells are merged.

import { cssColour } from '../../charts/colours';
import { textColourOn } from '../../charts/contrast';
import type { CsvTable } from '../../charts/csv';
import { svgElement } from '../../charts/svg';
import { equalRuns } from './equal-runs';
import { callBoxes, FONT_SIZE, LABEL_SPACING, pathThickness, TICK_SPACING, waitingThickness } from './paint';
import { behindCallsKind, kindOpacity } from './raster-images';
import { regionBoxes } from './region-boxes';
import { rowGap } from './row-gap';
import { bestRaster, rowHeight, rowsByRank, rowToY, type Scene, timeToX } from './scene';
import type { Region } from './thread-regions';
import { axisTicks } from './time-span';
import { type Call, cellDuration, type Raster } from './timeline-data';

/** Adjacent equal cells of a row. */
interface CellRun {
    row: number;
    from: number;
    to: number;
    kind: string;
    share: number;
    waiting: number | undefined;
    noCore: number | undefined;
    path: number | undefined;
}

/** Height of the legend. */
const LEGEND_HEIGHT = 30;
/** Number of distinguishable shades; more would only enlarge the file. */
const SHADE_COUNT = 8;

type Plane = 'kind' | 'share' | 'waiting' | 'path' | 'noCore';

/** Runs of cells of the window that are equal in some planes; `coarse` rounds to visible differences. */
function cellRuns(raster: Raster, { span }: Scene, planes: Plane[], coarse: boolean): CellRun[] {
    const cell = cellDuration(raster);
    const first = Math.max(0, Math.floor((span.from - raster.span.from) / cell));
    const end = Math.min(raster.columns, Math.ceil((span.to - raster.span.from) / cell));
    const rounded = (share: number) => (coarse ? Math.round(share * SHADE_COUNT) / SHADE_COUNT : share);
    const value = (plane: Plane, index: number) => (plane === 'kind' ? raster.kind[index] : rounded((raster[plane]?.[index] ?? 0) / 255));
    return raster.rows.flatMap((_, row) => {
        const begin = row * raster.columns;
        const isEqual = (one: number, next: number) => planes.every((plane) => value(plane, begin + one) === value(plane, begin + next));
        return equalRuns(first, end, isEqual).map(([from, to]) => ({
            row,
            from: raster.span.from + from * cell,
            to: raster.span.from + to * cell,
            kind: raster.kinds[raster.kind[begin + from] ?? 0] ?? '',
            share: value('share', begin + from) ?? 0,
            waiting: raster.waiting && value('waiting', begin + from),
            noCore: raster.noCore && value('noCore', begin + from),
            path: raster.path && value('path', begin + from),
        }));
    });
}

/** The window as a table: OpenMP regions if threads have rows, calls if there are few, otherwise cells. */
export function timelineTable(scene: Scene): CsvTable {
    if (scene.regions) return regionTable(scene, scene.regions);
    if (scene.calls) return callTable(scene.calls.filter((call) => call.leave >= scene.span.from && call.enter <= scene.span.to));
    const raster = bestRaster(scene.rasters, scene.span);
    const rounded = (share: number | undefined) => (share === undefined ? undefined : Math.round(1000 * share) / 1000);
    return {
        columns: ['row', 'from_ns', 'to_ns', 'kind', 'share', 'waiting', 'no_core', 'critical_path'],
        rows: (raster ? cellRuns(raster, scene, ['kind', 'share', 'waiting', 'path', 'noCore'], false) : []).map((run) => [
            scene.rows[run.row]?.label,
            Math.round(run.from),
            Math.round(run.to),
            run.kind,
            rounded(run.share),
            rounded(run.waiting),
            rounded(run.noCore),
            rounded(run.path),
        ]),
    };
}

function regionTable({ span, regionName }: Scene, regions: Region[]): CsvTable {
    const activities = ['useful', 'barrier', 'atEnd', 'lock', 'mpi', 'start', 'other'] as const;
    const names = ['useful', 'barrier', 'wait_at_end', 'lock', 'mpi', 'start', 'other'].map((name) => `${name}_ns`);
    const inside = regions.filter(({ begin, end }) => end >= span.from && begin <= span.to);
    return {
        columns: ['rank', 'mpi_thread', 'thread', 'region', 'executions', 'from_ns', 'to_ns', 'duration_ns', ...names],
        rows: inside.flatMap(({ rank, mpiThread, site, executions, begin, end, duration, threads }) =>
            threads.map((times, thread) => [
                ...[rank, mpiThread, thread, regionName(site), executions, begin, end, duration],
                ...activities.map((activity) => times[activity]),
            ]),
        ),
    };
}

function callTable(calls: Call[]): CsvTable {
    const what = ['operation', 'site', 'peer', 'tag', 'sent_bytes', 'received_bytes', 'wait_ns', 'wait_kind'];
    return {
        columns: ['rank', 'thread', 'enter_ns', 'leave_ns', ...what],
        rows: calls.map(({ rank, thread, enter, leave, operation, site, peer, tag, sent, received, wait, cause }) => [
            ...[rank, thread, enter, leave],
            ...[operation, site, peer, tag, sent, received, wait, cause],
        ]),
    };
}

export function timelineSvg(scene: Scene): SVGSVGElement {
    const { width, height, gutter, axis } = scene;
    const [plotWidth, plotHeight] = [width - gutter, height - axis];
    const inside = svgElement('svg', {
        x: gutter,
        y: axis,
        width: plotWidth,
        height: plotHeight,
        viewBox: `${gutter} ${axis} ${plotWidth} ${plotHeight}`,
    });
    const raster = bestRaster(scene.rasters, scene.span);
    if (raster) inside.append(...cellRects(scene, raster));
    inside.append(
        ...regionBoxes(scene).flatMap(({ rects }) =>
            rects.map(({ x, y, width, height, kind }) => svgRect(x, y, width, height, cssColour(`--${kind}`))),
        ),
    );
    if (scene.calls) inside.append(...callElements(scene, scene.calls));
    if (raster) inside.append(...stripRects(scene, raster));
    inside.append(...arrowElements(scene));
    const size = { width, height: height + LEGEND_HEIGHT, viewBox: `0 0 ${width} ${height + LEGEND_HEIGHT}` };
    return svgElement('svg', size, inside, ...frameElements(scene), ...legendElements(scene));
}

const round2 = (value: number): number => Math.round(100 * value) / 100;

function svgRect(x: number, y: number, width: number, height: number, fill: string, opacity = 1): SVGRectElement {
    const where = { x: round2(x), y: round2(y), width: round2(width), height: round2(height), fill };
    return svgElement('rect', opacity < 1 ? { ...where, 'fill-opacity': round2(opacity) } : where);
}

function cellRects(scene: Scene, raster: Raster): SVGRectElement[] {
    const height = rowHeight(scene) - rowGap(rowHeight(scene));
    const behindCalls = scene.calls !== undefined;
    const drawnKind = (kind: string) => (behindCalls ? behindCallsKind(kind) : kind);
    const isDrawn = (kind: string) => kind !== 'absent' && !scene.hiddenKinds.has(kind);
    const drawn = cellRuns(raster, scene, ['kind', 'share'], true).filter((run) => isDrawn(drawnKind(run.kind)));
    return drawn.map((run) => {
        const x = timeToX(scene, run.from);
        const [fill, opacity] = [cssColour(`--${drawnKind(run.kind)}`), kindOpacity(run.kind, 255 * run.share, behindCalls)];
        return svgRect(x, rowToY(scene, run.row), timeToX(scene, run.to) - x, height, fill, opacity);
    });
}

function stripRects(scene: Scene, raster: Raster): SVGRectElement[] {
    const height = rowHeight(scene);
    const of = (plane: 'waiting' | 'noCore' | 'path', colour: string, y: (row: number) => number, thickness: number) =>
        cellRuns(raster, scene, [plane], true)
            .filter((run) => (run[plane] ?? 0) > 0)
            .map((run) =>
                svgRect(
                    timeToX(scene, run.from),
                    y(run.row),
                    timeToX(scene, run.to) - timeToX(scene, run.from),
                    thickness,
                    cssColour(colour),
                    run[plane],
                ),
            );
    return [
        ...(scene.showsWaiting && !scene.calls ? of('waiting', '--waiting', (row) => rowToY(scene, row), waitingThickness(height)) : []),
        ...(scene.showsNoCore ? of('noCore', '--no-core', (row) => rowToY(scene, row) + waitingThickness(height), waitingThickness(height)) : []),
        ...(scene.showsPath
            ? of('path', '--path', (row) => rowToY(scene, row + 1) - rowGap(height) - pathThickness(height), pathThickness(height))
            : []),
    ];
}

function callElements(scene: Scene, all: Call[]): SVGElement[] {
    const place = callBoxes(scene, all);
    return all.flatMap((call) => {
        const box = place(call);
        const kind = scene.kinds[call.kind] ?? '';
        if (!box || scene.hiddenKinds.has(kind)) return [];
        const fill = cssColour(kind === 'absent' ? '--surface' : `--${kind}`);
        const drawn: SVGElement[] = [svgRect(box.x, box.y, box.width, box.height, fill)];
        const part = Math.min(1, call.wait / Math.max(1, call.leave - call.enter));
        if (scene.showsWaiting && part > 0) drawn.push(svgRect(box.x, box.y, box.width * part, waitingThickness(box.height), cssColour('--waiting')));
        const label = call.operation.replace(/^MPI_/, '');
        const from = Math.max(box.x, scene.gutter);
        const available = Math.min(box.x + box.width, scene.width) - from - 8;
        const isRead = box.height >= FONT_SIZE * scene.fontScale && 7 * scene.fontScale * label.length <= available;
        if (isRead) drawn.push(svgText(scene, from + 4, box.y + box.height / 2 + 4, label, textColourOn(fill)));
        return drawn;
    });
}

function arrowElements(scene: Scene): SVGElement[] {
    const rows = rowsByRank(scene.rows);
    const middle = rowHeight(scene) / 2;
    const textColour = cssColour('--text');
    return (scene.messages ?? []).flatMap((message) => {
        const [from, to] = [rows.get(message.from), rows.get(message.to)];
        if (from === undefined || to === undefined) return [];
        const [x1, y1] = [round2(timeToX(scene, message.sent)), round2(rowToY(scene, from) + middle)];
        const [x2, y2] = [round2(timeToX(scene, message.received)), round2(rowToY(scene, to) + middle)];
        return [
            svgElement('line', { x1, y1, x2, y2, stroke: textColour, 'stroke-opacity': 0.55 }),
            svgElement('circle', { cx: x2, cy: y2, r: 2, fill: textColour }),
        ];
    });
}

function legendElements(scene: Scene): SVGElement[] {
    const strips = [
        ...(scene.showsWaiting ? ['waiting'] : []),
        ...(bestRaster(scene.rasters, scene.span)?.noCore && scene.showsNoCore ? ['no-core'] : []),
        ...(scene.showsPath ? ['path'] : []),
    ];
    const names = [...scene.kinds.filter((kind) => kind !== 'absent' && !scene.hiddenKinds.has(kind)), ...strips];
    const step = Math.min(100 * scene.fontScale, (scene.width - scene.gutter) / Math.max(1, names.length));
    const top = scene.height + 10;
    return names.flatMap((name, index) => [
        svgRect(scene.gutter + index * step, top, 12, 12, cssColour(`--${name}`)),
        svgText(scene, scene.gutter + index * step + 16, top + 10, name === 'path' ? 'critical path' : name, cssColour('--text')),
    ]);
}

function svgText({ fontScale }: Scene, x: number, y: number, text: string, fill: string): SVGTextElement {
    return svgElement('text', { x: round2(x), y: round2(y), fill, 'font-size': FONT_SIZE * fontScale, 'font-family': 'sans-serif' }, text);
}

function frameElements(scene: Scene): SVGElement[] {
    const { gutter, axis, fontScale } = scene;
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil((LABEL_SPACING * fontScale) / height));
    const middle = each === 1 ? height / 2 : (LABEL_SPACING * fontScale) / 2;
    const names = scene.rows.flatMap((row, index) =>
        index % each === 0 ? [svgText(scene, 4, rowToY(scene, index) + middle + 4, row.label, cssColour('--muted'))] : [],
    );
    const times = axisTicks(scene.span, (scene.width - gutter) / (TICK_SPACING * fontScale)).flatMap(({ time, label }) => [
        svgRect(timeToX(scene, time), axis - 7, 1, 7, cssColour('--line')),
        svgText(scene, timeToX(scene, time) + 3, axis - 9, label, cssColour('--muted')),
    ]);
    return [svgRect(gutter, axis - 1, scene.width - gutter, 1, cssColour('--line')), ...names, ...times];
}
