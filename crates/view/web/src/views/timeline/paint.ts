// Draws a scene on a canvas.

import { colour } from '../../charts/colours';
import type { Call, Picture } from './answers';
import { ground, strip } from './cells';
import { AXIS, GUTTER, layers, rowHeight, rowOfRank, type Scene, standsOut, xOf, yOf } from './scene';
import { marks } from './span';

const FONT = '12px system-ui, sans-serif';
const FADED = 0.22;

/** How thick the strips of waiting and of the critical path are in a row of a height. */
export const waitingThickness = (height: number): number => Math.max(1, Math.min(7, 0.25 * height));
export const pathThickness = (height: number): number => Math.max(1, Math.min(3, 0.2 * height));
/** The space between rows of a height. */
export const gapOf = (height: number): number => (height >= 6 ? 1 : 0);

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
    context.clearRect(0, 0, scene.width, scene.height);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, scene.width - GUTTER, scene.height - AXIS);
    context.clip();
    const shown = layers(scene.pictures, scene.span);
    for (const picture of shown) paintPicture(context, scene, picture);
    if (scene.calls) paintCalls(context, scene, scene.calls);
    for (const picture of shown) paintStrips(context, scene, picture);
    paintGaps(context, scene);
    fadeRows(context, scene);
    if (scene.messages) paintMessages(context, scene);
    paintChosen(context, scene);
    context.restore();
    paintAxis(context, scene);
    paintLabels(context, scene);
}

function paintPicture(context: CanvasRenderingContext2D, scene: Scene, picture: Picture): void {
    const image = ground(picture, scene.off, scene.calls !== undefined);
    const left = xOf(scene, picture.span.from);
    context.imageSmoothingEnabled = false;
    context.clearRect(left, AXIS, xOf(scene, picture.span.to) - left, scene.height - AXIS);
    context.drawImage(image, left, AXIS, xOf(scene, picture.span.to) - left, scene.height - AXIS);
}

function paintStrips(context: CanvasRenderingContext2D, scene: Scene, picture: Picture): void {
    const height = rowHeight(scene);
    const left = xOf(scene, picture.span.from);
    const width = xOf(scene, picture.span.to) - left;
    const waiting = scene.showsWaiting && !scene.calls && picture.waiting && strip(picture, picture.waiting, '--waiting');
    const path = scene.showsPath && picture.path && strip(picture, picture.path, '--path');
    context.imageSmoothingEnabled = false;
    for (let row = 0; row < picture.rows.length; row++) {
        const top = yOf(scene, row);
        if (waiting) context.drawImage(waiting, 0, row, picture.columns, 1, left, top, width, waitingThickness(height));
        if (path) context.drawImage(path, 0, row, picture.columns, 1, left, top + height - gapOf(height) - pathThickness(height), width, pathThickness(height));
    }
}

function paintCalls(context: CanvasRenderingContext2D, scene: Scene, calls: Call[]): void {
    const place = placesOf(scene, calls);
    const fills = scene.kinds.map((kind) => (kind === 'absent' ? colour('--raised') : colour(`--${kind}`)));
    const inks = fills.map((fill) => (light(fill) ? '#000000' : '#ffffff'));
    const waiting = colour('--waiting');
    context.font = FONT;
    context.textBaseline = 'middle';
    for (const call of calls) {
        const box = place(call);
        if (!box || scene.off.has(scene.kinds[call.kind] ?? '')) continue;
        context.globalAlpha = standsOut(scene, call) ? 1 : FADED;
        context.fillStyle = fills[call.kind] ?? '';
        context.fillRect(box.x, box.y, box.width, box.height);
        if (scene.showsWaiting && call.wait > 0) {
            context.fillStyle = waiting;
            const part = Math.min(1, call.wait / Math.max(1, call.leave - call.enter));
            context.fillRect(box.x, box.y, box.width * part, waitingThickness(box.height));
        }
        if (box.height < 12 || box.width < 24) continue;
        const from = Math.max(box.x, GUTTER);
        const room = Math.min(box.x + box.width, scene.width) - from - 8;
        const label = call.operation.replace(/^MPI_/, '');
        if (context.measureText(label).width > room) continue;
        context.fillStyle = scene.kinds[call.kind] === 'absent' ? colour('--text') : (inks[call.kind] ?? '');
        context.fillText(label, from + 4, box.y + box.height / 2 + 1);
    }
    context.globalAlpha = 1;
}

interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

/** Where a call stands: the threads of a rank share its row. Nothing for what is outside the window. */
export function placesOf(scene: Scene, calls: Call[]): (call: Call) => Box | undefined {
    const rows = rowOfRank(scene.rows);
    const height = rowHeight(scene);
    const threads = new Map<number, number>();
    for (const call of calls) threads.set(call.rank, Math.max(threads.get(call.rank) ?? 1, call.thread + 1));
    return (call) => {
        const row = rows.get(call.rank);
        if (row === undefined || call.leave < scene.span.from || call.enter > scene.span.to) return undefined;
        const lanes = threads.get(call.rank) ?? 1;
        const lane = (height - gapOf(height)) / lanes;
        const x = Math.max(GUTTER - 2, xOf(scene, call.enter));
        const end = Math.min(scene.width + 2, xOf(scene, call.leave));
        return { x, y: yOf(scene, row) + call.thread * lane, width: Math.max(0.75, end - x), height: lane };
    };
}

function paintGaps(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const gap = gapOf(height);
    if (gap === 0) return;
    context.fillStyle = colour('--ground');
    for (let row = 1; row <= scene.rows.length; row++) context.fillRect(GUTTER, yOf(scene, row) - gap, scene.width - GUTTER, gap);
}

function fadeRows(context: CanvasRenderingContext2D, scene: Scene): void {
    const { ranks } = scene;
    if (!ranks) return;
    context.globalAlpha = 1 - FADED;
    context.fillStyle = colour('--ground');
    scene.rows.forEach((row, at) => {
        if (!row.ranks.some((rank) => ranks.has(rank))) context.fillRect(GUTTER, yOf(scene, at), scene.width - GUTTER, rowHeight(scene));
    });
    context.globalAlpha = 1;
}

function paintMessages(context: CanvasRenderingContext2D, scene: Scene): void {
    const rows = rowOfRank(scene.rows);
    const middle = rowHeight(scene) / 2;
    for (const message of scene.messages ?? []) {
        const from = rows.get(message.from);
        const to = rows.get(message.to);
        if (from === undefined || to === undefined || message.received < scene.span.from || message.sent > scene.span.to) continue;
        const { chosen } = scene;
        const own =
            chosen !== undefined &&
            ((message.from === chosen.rank && message.sent === chosen.enter) || (message.to === chosen.rank && message.received === chosen.leave));
        context.strokeStyle = colour('--text');
        context.fillStyle = colour('--text');
        context.globalAlpha = own ? 1 : 0.55;
        context.lineWidth = own ? 2 : 1;
        arrow(context, xOf(scene, message.sent), yOf(scene, from) + middle, xOf(scene, message.received), yOf(scene, to) + middle);
    }
    context.globalAlpha = 1;
}

function arrow(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    for (const side of [-0.4, 0.4]) context.lineTo(x1 - 7 * Math.cos(angle + side), y1 - 7 * Math.sin(angle + side));
    context.fill();
}

/** A frame that can be seen however short the call is. */
function paintChosen(context: CanvasRenderingContext2D, scene: Scene): void {
    const { chosen } = scene;
    const row = chosen && rowOfRank(scene.rows).get(chosen.rank);
    if (!chosen || row === undefined) return;
    const left = xOf(scene, chosen.enter);
    const width = Math.max(4, xOf(scene, chosen.leave ?? chosen.enter) - left);
    context.strokeStyle = colour('--ground');
    context.lineWidth = 4;
    context.strokeRect(left - 1, yOf(scene, row), width + 2, rowHeight(scene) - 1);
    context.strokeStyle = colour('--accent');
    context.lineWidth = 2;
    context.strokeRect(left - 1, yOf(scene, row), width + 2, rowHeight(scene) - 1);
}

function paintAxis(context: CanvasRenderingContext2D, scene: Scene): void {
    context.font = FONT;
    context.textBaseline = 'alphabetic';
    for (const { at, label } of marks(scene.span, (scene.width - GUTTER) / 110)) {
        const x = Math.round(xOf(scene, at)) + 0.5;
        context.fillStyle = colour('--line');
        context.fillRect(x - 0.5, AXIS - 7, 1, 7);
        const room = scene.width - x - 3;
        context.fillStyle = colour('--quiet');
        if (context.measureText(label).width < room) context.fillText(label, x + 3, AXIS - 9);
    }
    context.fillStyle = colour('--line');
    context.fillRect(GUTTER, AXIS - 1, scene.width - GUTTER, 1);
}

function paintLabels(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil(14 / height));
    context.font = FONT;
    context.textBaseline = 'middle';
    scene.rows.forEach((row, at) => {
        if (at % each !== 0 || yOf(scene, at) + 12 > scene.height) return;
        const selected = scene.ranks !== undefined && row.ranks.some((rank) => scene.ranks?.has(rank));
        context.fillStyle = colour(selected ? '--accent' : '--quiet');
        context.fillText(shortened(context, row.label, GUTTER - 10), 4, yOf(scene, at) + (each === 1 ? height / 2 : 7));
    });
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
    if (context.measureText(text).width <= room) return text;
    let end = text.length - 1;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > room) end--;
    return `${text.slice(0, end)}…`;
}

/** Whether dark letters are read better on a colour. */
export function light(rgb: string): boolean {
    const [red = 0, green = 0, blue = 0] = (rgb.match(/[\d.]+/g) ?? []).map(Number);
    return 0.299 * red + 0.587 * green + 0.114 * blue > 128;
}
