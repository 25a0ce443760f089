// The timeline as a picture that stands alone, and as a table: cells of the same kind in a row are put together.

import { colour } from '../../charts/colours';
import type { Table } from '../../charts/csv';
import { element } from '../../charts/svg';
import type { Picture } from './answers';
import { cellOf } from './answers';
import { strength } from './cells';
import { gapOf, light, pathThickness, placesOf, waitingThickness } from './paint';
import { AXIS, best, GUTTER, rowHeight, rowOfRank, type Scene, xOf, yOf } from './scene';
import { marks } from './span';

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

function runs(picture: Picture, scene: Scene, coarse: boolean): Run[] {
    const cell = cellOf(picture);
    const level = (plane: Uint8Array | undefined, at: number) => plane && (coarse ? Math.round(((plane[at] ?? 0) / 255) * SHADES) / SHADES : (plane[at] ?? 0) / 255);
    const found: Run[] = [];
    const first = Math.max(0, Math.floor((scene.span.from - picture.span.from) / cell));
    const last = Math.min(picture.columns, Math.ceil((scene.span.to - picture.span.from) / cell));
    for (let row = 0; row < picture.rows.length; row++) {
        for (let column = first; column < last; column++) {
            const at = row * picture.columns + column;
            const run: Run = {
                row,
                from: picture.span.from + column * cell,
                to: picture.span.from + (column + 1) * cell,
                kind: picture.kinds[picture.kind[at] ?? 0] ?? '',
                share: level(picture.share, at) ?? 0,
                waiting: level(picture.waiting, at),
                path: level(picture.path, at),
            };
            const before = found.at(-1);
            const alike =
                before && column > first && before.kind === run.kind && before.share === run.share && before.waiting === run.waiting && before.path === run.path;
            if (alike) before.to = run.to;
            else found.push(run);
        }
    }
    return found;
}

/** What the window shows as rows of a table: calls where they are few, else cells. */
export function table(scene: Scene): Table {
    const picture = best(scene.pictures, scene.span);
    if (scene.calls) {
        const calls = scene.calls.filter((call) => call.leave >= scene.span.from && call.enter <= scene.span.to);
        return {
            columns: ['rank', 'thread', 'enter_ns', 'leave_ns', 'operation', 'site', 'peer', 'tag', 'sent_bytes', 'received_bytes', 'wait_ns', 'wait_kind'],
            rows: calls.map((call) => [
                call.rank,
                call.thread,
                call.enter,
                call.leave,
                call.operation,
                call.site,
                call.peer,
                call.tag,
                call.sent,
                call.received,
                call.wait,
                call.cause,
            ]),
        };
    }
    const rounded = (share: number | undefined) => (share === undefined ? undefined : Math.round(1000 * share) / 1000);
    return {
        columns: ['row', 'from_ns', 'to_ns', 'kind', 'share', 'waiting', 'critical_path'],
        rows: (picture ? runs(picture, scene, false) : []).map((run) => [
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

export function svg(scene: Scene): SVGSVGElement {
    const { width, height } = scene;
    const inside = element('svg', { x: GUTTER, y: AXIS, width: width - GUTTER, height: height - AXIS, viewBox: `${GUTTER} ${AXIS} ${width - GUTTER} ${height - AXIS}` });
    const picture = best(scene.pictures, scene.span);
    if (picture) inside.append(...cells(scene, picture));
    if (scene.calls) inside.append(...calls(scene));
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
    const drawn = runs({ ...picture, waiting: undefined, path: undefined }, scene, true).filter((run) => run.kind !== 'absent' && !scene.off.has(run.kind));
    return drawn.map((run) => {
        const [x, fill] = [xOf(scene, run.from), colour(scene.calls ? '--computing' : `--${run.kind}`)];
        return rect(x, yOf(scene, run.row), xOf(scene, run.to) - x, height, fill, scene.calls ? 1 : strength(255 * run.share));
    });
}

function strips(scene: Scene, picture: Picture): SVGRectElement[] {
    const height = rowHeight(scene);
    const bare = { ...picture, kind: new Uint8Array(picture.kind.length), share: new Uint8Array(picture.share.length) };
    const of = (plane: 'waiting' | 'path', y: (row: number) => number, thick: number) =>
        runs({ ...bare, [plane === 'waiting' ? 'path' : 'waiting']: undefined }, scene, true)
            .filter((run) => (run[plane] ?? 0) > 0)
            .map((run) => rect(xOf(scene, run.from), y(run.row), xOf(scene, run.to) - xOf(scene, run.from), thick, colour(`--${plane}`), run[plane]));
    return [
        ...(scene.showsWaiting && !scene.calls ? of('waiting', (row) => yOf(scene, row), waitingThickness(height)) : []),
        ...(scene.showsPath ? of('path', (row) => yOf(scene, row + 1) - gapOf(height) - pathThickness(height), pathThickness(height)) : []),
    ];
}

function calls(scene: Scene): SVGElement[] {
    const place = placesOf(scene, scene.calls ?? []);
    return (scene.calls ?? []).flatMap((call) => {
        const box = place(call);
        const kind = scene.kinds[call.kind] ?? '';
        if (!box || scene.off.has(kind)) return [];
        const fill = colour(kind === 'absent' ? '--raised' : `--${kind}`);
        const drawn: SVGElement[] = [rect(box.x, box.y, box.width, box.height, fill)];
        const part = call.wait / Math.max(1, call.leave - call.enter);
        if (scene.showsWaiting && part > 0) drawn.push(rect(box.x, box.y, box.width * Math.min(1, part), waitingThickness(box.height), colour('--waiting')));
        const label = call.operation.replace(/^MPI_/, '');
        const from = Math.max(box.x, GUTTER);
        if (box.height >= 12 && 7 * label.length + 8 <= Math.min(box.x + box.width, scene.width) - from) drawn.push(text(from + 4, box.y + box.height / 2 + 4, label, light(fill) ? '#000' : '#fff'));
        return drawn;
    });
}

function arrows(scene: Scene): SVGElement[] {
    const rows = rowOfRank(scene.rows);
    const middle = rowHeight(scene) / 2;
    return (scene.messages ?? []).flatMap((message) => {
        const [from, to] = [rows.get(message.from), rows.get(message.to)];
        if (from === undefined || to === undefined) return [];
        const line = { x1: xOf(scene, message.sent), y1: yOf(scene, from) + middle, x2: xOf(scene, message.received), y2: yOf(scene, to) + middle };
        const rounded = Object.fromEntries(Object.entries(line).map(([name, value]) => [name, short(value)]));
        return [element('line', { ...rounded, stroke: colour('--text'), 'stroke-opacity': 0.55 }), element('circle', { cx: short(line.x2), cy: short(line.y2), r: 2, fill: colour('--text') })];
    });
}

/** What the colours mean. */
function legend(scene: Scene): SVGElement[] {
    const strips = [...(scene.showsWaiting ? ['waiting'] : []), ...(scene.showsPath ? ['path'] : [])];
    const names = [...scene.kinds.filter((kind) => kind !== 'absent' && !scene.off.has(kind)), ...strips];
    const step = Math.min(100, (scene.width - GUTTER) / Math.max(1, names.length));
    const top = scene.height + 10;
    return names.flatMap((name, at) => [
        rect(GUTTER + at * step, top, 12, 12, colour(`--${name}`)),
        text(GUTTER + at * step + 16, top + 10, name === 'path' ? 'critical path' : name, colour('--text')),
    ]);
}

function text(x: number, y: number, said: string, fill: string): SVGTextElement {
    return element('text', { x: short(x), y: short(y), fill, 'font-size': 12, 'font-family': 'sans-serif' }, said);
}

function frame(scene: Scene): SVGElement[] {
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil(14 / height));
    const names = scene.rows.flatMap((row, at) => (at % each === 0 ? [text(4, yOf(scene, at) + (each === 1 ? height / 2 : 7) + 4, row.label, colour('--quiet'))] : []));
    const axis = marks(scene.span, (scene.width - GUTTER) / 110).flatMap(({ at, label }) => [
        rect(xOf(scene, at), AXIS - 7, 1, 7, colour('--line')),
        text(xOf(scene, at) + 3, AXIS - 9, label, colour('--quiet')),
    ]);
    return [rect(GUTTER, AXIS - 1, scene.width - GUTTER, 1, colour('--line')), ...names, ...axis];
}
