// The timeline as a picture that stands alone, and as a table: cells of the same kind in a row are put together.

import { colour } from '../../charts/colours';
import type { Table } from '../../charts/csv';
import { inkOn } from '../../charts/ink';
import { element } from '../../charts/svg';
import { type Call, cellOf, type Picture } from './answers';
import { strength } from './cells';
import { gapOf, LETTERS, MARK_EVERY, NAME_EVERY, pathThickness, placesOf, waitingThickness } from './paint';
import { best, rowHeight, rowOfRank, type Scene, xOf, yOf } from './scene';
import { marks } from './span';
import { stretches } from './stretches';

/** Cells of a row that follow each other and look the same. */
interface Run {
    row: number;
    from: number;
    to: number;
    kind: string;
    share: number;
    waiting: number | undefined;
    path: number | undefined;
}

/** Room for the legend, below. */
const LEGEND = 30;
/** Strengths that the eye tells apart, and no more: the file stays small. */
const SHADES = 8;

type Plane = 'kind' | 'share' | 'waiting' | 'path';

/** The window in runs of cells that are alike in some planes; `coarse`: as far as the eye can tell. */
function runs(picture: Picture, { span }: Scene, planes: Plane[], coarse: boolean): Run[] {
    const cell = cellOf(picture);
    const first = Math.max(0, Math.floor((span.from - picture.span.from) / cell));
    const end = Math.min(picture.columns, Math.ceil((span.to - picture.span.from) / cell));
    const rounded = (share: number) => (coarse ? Math.round(share * SHADES) / SHADES : share);
    const value = (plane: Plane, at: number) => (plane === 'kind' ? picture.kind[at] : rounded((picture[plane]?.[at] ?? 0) / 255));
    return picture.rows.flatMap((_, row) => {
        const begin = row * picture.columns;
        const alike = (one: number, next: number) => planes.every((plane) => value(plane, begin + one) === value(plane, begin + next));
        return stretches(first, end, alike).map(([from, to]) => ({
            row,
            from: picture.span.from + from * cell,
            to: picture.span.from + to * cell,
            kind: picture.kinds[picture.kind[begin + from] ?? 0] ?? '',
            share: value('share', begin + from) ?? 0,
            waiting: picture.waiting && value('waiting', begin + from),
            path: picture.path && value('path', begin + from),
        }));
    });
}

/** What the window shows as rows of a table: calls where they are few, else cells. */
export function table(scene: Scene): Table {
    if (scene.calls) return tableOfCalls(scene.calls.filter((call) => call.leave >= scene.span.from && call.enter <= scene.span.to));
    const picture = best(scene.pictures, scene.span);
    const rounded = (share: number | undefined) => (share === undefined ? undefined : Math.round(1000 * share) / 1000);
    return {
        columns: ['row', 'from_ns', 'to_ns', 'kind', 'share', 'waiting', 'critical_path'],
        rows: (picture ? runs(picture, scene, ['kind', 'share', 'waiting', 'path'], false) : []).map((run) => [
            scene.rows[run.row]?.label,
            Math.round(run.from),
            Math.round(run.to),
            run.kind,
            rounded(run.share),
            rounded(run.waiting),
            rounded(run.path),
        ]),
    };
}

function tableOfCalls(calls: Call[]): Table {
    const what = ['operation', 'site', 'peer', 'tag', 'sent_bytes', 'received_bytes', 'wait_ns', 'wait_kind'];
    return {
        columns: ['rank', 'thread', 'enter_ns', 'leave_ns', ...what],
        rows: calls.map(({ rank, thread, enter, leave, operation, site, peer, tag, sent, received, wait, cause }) => [
            ...[rank, thread, enter, leave],
            ...[operation, site, peer, tag, sent, received, wait, cause],
        ]),
    };
}

export function svg(scene: Scene): SVGSVGElement {
    const { width, height, gutter, axis } = scene;
    const [wide, high] = [width - gutter, height - axis];
    const inside = element('svg', { x: gutter, y: axis, width: wide, height: high, viewBox: `${gutter} ${axis} ${wide} ${high}` });
    const picture = best(scene.pictures, scene.span);
    if (picture) inside.append(...cells(scene, picture));
    if (scene.calls) inside.append(...calls(scene, scene.calls));
    if (picture) inside.append(...strips(scene, picture));
    inside.append(...arrows(scene));
    const size = { width, height: height + LEGEND, viewBox: `0 0 ${width} ${height + LEGEND}` };
    return element('svg', size, inside, ...frame(scene), ...legend(scene));
}

const short = (value: number): number => Math.round(100 * value) / 100;

function rect(x: number, y: number, width: number, height: number, fill: string, opacity = 1): SVGRectElement {
    const where = { x: short(x), y: short(y), width: short(width), height: short(height), fill };
    return element('rect', opacity < 1 ? { ...where, 'fill-opacity': short(opacity) } : where);
}

function cells(scene: Scene, picture: Picture): SVGRectElement[] {
    const height = rowHeight(scene) - gapOf(rowHeight(scene));
    const drawn = runs(picture, scene, ['kind', 'share'], true).filter((run) => run.kind !== 'absent' && !scene.off.has(run.kind));
    return drawn.map((run) => {
        const [x, fill] = [xOf(scene, run.from), colour(scene.calls ? '--computing' : `--${run.kind}`)];
        return rect(x, yOf(scene, run.row), xOf(scene, run.to) - x, height, fill, scene.calls ? 1 : strength(255 * run.share));
    });
}

function strips(scene: Scene, picture: Picture): SVGRectElement[] {
    const height = rowHeight(scene);
    const of = (plane: 'waiting' | 'path', y: (row: number) => number, thick: number) =>
        runs(picture, scene, [plane], true)
            .filter((run) => (run[plane] ?? 0) > 0)
            .map((run) => rect(xOf(scene, run.from), y(run.row), xOf(scene, run.to) - xOf(scene, run.from), thick, colour(`--${plane}`), run[plane]));
    return [
        ...(scene.showsWaiting && !scene.calls ? of('waiting', (row) => yOf(scene, row), waitingThickness(height)) : []),
        ...(scene.showsPath ? of('path', (row) => yOf(scene, row + 1) - gapOf(height) - pathThickness(height), pathThickness(height)) : []),
    ];
}

function calls(scene: Scene, all: Call[]): SVGElement[] {
    const place = placesOf(scene, all);
    return all.flatMap((call) => {
        const box = place(call);
        const kind = scene.kinds[call.kind] ?? '';
        if (!box || scene.off.has(kind)) return [];
        const fill = colour(kind === 'absent' ? '--raised' : `--${kind}`);
        const drawn: SVGElement[] = [rect(box.x, box.y, box.width, box.height, fill)];
        const part = Math.min(1, call.wait / Math.max(1, call.leave - call.enter));
        if (scene.showsWaiting && part > 0) drawn.push(rect(box.x, box.y, box.width * part, waitingThickness(box.height), colour('--waiting')));
        const label = call.operation.replace(/^MPI_/, '');
        const from = Math.max(box.x, scene.gutter);
        const room = Math.min(box.x + box.width, scene.width) - from - 8;
        const isRead = box.height >= LETTERS * scene.larger && 7 * scene.larger * label.length <= room;
        if (isRead) drawn.push(text(scene, from + 4, box.y + box.height / 2 + 4, label, inkOn(fill)));
        return drawn;
    });
}

function arrows(scene: Scene): SVGElement[] {
    const rows = rowOfRank(scene.rows);
    const middle = rowHeight(scene) / 2;
    const ink = colour('--text');
    return (scene.messages ?? []).flatMap((message) => {
        const [from, to] = [rows.get(message.from), rows.get(message.to)];
        if (from === undefined || to === undefined) return [];
        const [x1, y1] = [short(xOf(scene, message.sent)), short(yOf(scene, from) + middle)];
        const [x2, y2] = [short(xOf(scene, message.received)), short(yOf(scene, to) + middle)];
        return [element('line', { x1, y1, x2, y2, stroke: ink, 'stroke-opacity': 0.55 }), element('circle', { cx: x2, cy: y2, r: 2, fill: ink })];
    });
}

/** What the colours mean. */
function legend(scene: Scene): SVGElement[] {
    const strips = [...(scene.showsWaiting ? ['waiting'] : []), ...(scene.showsPath ? ['path'] : [])];
    const names = [...scene.kinds.filter((kind) => kind !== 'absent' && !scene.off.has(kind)), ...strips];
    const step = Math.min(100 * scene.larger, (scene.width - scene.gutter) / Math.max(1, names.length));
    const top = scene.height + 10;
    return names.flatMap((name, at) => [
        rect(scene.gutter + at * step, top, 12, 12, colour(`--${name}`)),
        text(scene, scene.gutter + at * step + 16, top + 10, name === 'path' ? 'critical path' : name, colour('--text')),
    ]);
}

function text({ larger }: Scene, x: number, y: number, said: string, fill: string): SVGTextElement {
    return element('text', { x: short(x), y: short(y), fill, 'font-size': LETTERS * larger, 'font-family': 'sans-serif' }, said);
}

function frame(scene: Scene): SVGElement[] {
    const { gutter, axis, larger } = scene;
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil((NAME_EVERY * larger) / height));
    const middle = each === 1 ? height / 2 : (NAME_EVERY * larger) / 2;
    const names = scene.rows.flatMap((row, at) =>
        at % each === 0 ? [text(scene, 4, yOf(scene, at) + middle + 4, row.label, colour('--quiet'))] : [],
    );
    const times = marks(scene.span, (scene.width - gutter) / (MARK_EVERY * larger)).flatMap(({ at, label }) => [
        rect(xOf(scene, at), axis - 7, 1, 7, colour('--line')),
        text(scene, xOf(scene, at) + 3, axis - 9, label, colour('--quiet')),
    ]);
    return [rect(gutter, axis - 1, scene.width - gutter, 1, colour('--line')), ...names, ...times];
}
