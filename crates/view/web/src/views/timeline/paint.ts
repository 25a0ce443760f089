// Draws a scene on a canvas.

import { colour } from '../../charts/colours';
import { inkOn } from '../../charts/ink';
import type { Call, Picture } from './answers';
import { ground, strip } from './cells';
import { lanesOf, layers, rowHeight, rowOfRank, type Scene, standsOut, xOf, yOf } from './scene';
import { marks } from './span';

/** The size of letters on usual screens, the room between marks of the axis, and between names of rows, in pixels. */
export const LETTERS = 12;
export const MARK_EVERY = 110;
export const NAME_EVERY = 14;
const FADED = 0.22;

/** How thick the strips of waiting and of the critical path are in a row of a height. */
export const waitingThickness = (height: number): number => Math.max(1, Math.min(7, 0.25 * height));
export const pathThickness = (height: number): number => Math.max(1, Math.min(3, 0.2 * height));
/** The space between rows of a height. */
export const gapOf = (height: number): number => (height >= 6 ? 1 : 0);

const fontOf = ({ larger }: Scene): string => `${LETTERS * larger}px system-ui, sans-serif`;

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
    const { gutter, axis } = scene;
    context.clearRect(0, 0, scene.width, scene.height);
    context.save();
    context.beginPath();
    context.rect(gutter, axis, scene.width - gutter, scene.height - axis);
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
    paintThreads(context, scene);
}

function paintPicture(context: CanvasRenderingContext2D, scene: Scene, picture: Picture): void {
    const image = ground(picture, scene.off, scene.calls !== undefined);
    const left = xOf(scene, picture.span.from);
    context.imageSmoothingEnabled = false;
    context.clearRect(left, scene.axis, xOf(scene, picture.span.to) - left, scene.height - scene.axis);
    context.drawImage(image, left, scene.axis, xOf(scene, picture.span.to) - left, scene.height - scene.axis);
}

function paintStrips(context: CanvasRenderingContext2D, scene: Scene, picture: Picture): void {
    const height = rowHeight(scene);
    const left = xOf(scene, picture.span.from);
    const width = xOf(scene, picture.span.to) - left;
    const waiting = scene.showsWaiting && !scene.calls && picture.waiting && strip(picture, picture.waiting, '--waiting');
    const path = scene.showsPath && picture.path && strip(picture, picture.path, '--path');
    context.imageSmoothingEnabled = false;
    for (let row = 0; row < picture.rows.length; row++) {
        const stretched = (image: CanvasImageSource, top: number, thick: number) =>
            context.drawImage(image, 0, row, picture.columns, 1, left, top, width, thick);
        if (waiting) stretched(waiting, yOf(scene, row), waitingThickness(height));
        if (path) stretched(path, yOf(scene, row + 1) - gapOf(height) - pathThickness(height), pathThickness(height));
    }
}

function paintCalls(context: CanvasRenderingContext2D, scene: Scene, calls: Call[]): void {
    const place = placesOf(scene, calls);
    const fills = scene.kinds.map((kind) => (kind === 'absent' ? colour('--raised') : colour(`--${kind}`)));
    const inks = fills.map(inkOn);
    const waiting = colour('--waiting');
    context.font = fontOf(scene);
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
        if (box.height < LETTERS * scene.larger || box.width < 24) continue;
        const from = Math.max(box.x, scene.gutter);
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

/** Where a call stands: each thread of a rank has a lane in its row. Nothing for what is outside the window. */
export function placesOf(scene: Scene, calls: Call[]): (call: Call) => Box | undefined {
    const rows = rowOfRank(scene.rows);
    const height = rowHeight(scene);
    const lanes = lanesOf(calls);
    return (call) => {
        const row = rows.get(call.rank);
        if (row === undefined || call.leave < scene.span.from || call.enter > scene.span.to) return undefined;
        const many = lanes.get(call.rank) ?? 1;
        const lane = (height - gapOf(height)) / many;
        const gap = many > 1 ? gapOf(lane) : 0;
        const x = Math.max(scene.gutter - 2, xOf(scene, call.enter));
        const end = Math.min(scene.width + 2, xOf(scene, call.leave));
        return { x, y: yOf(scene, row) + call.thread * lane, width: Math.max(0.75, end - x), height: lane - gap };
    };
}

function paintGaps(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const gap = gapOf(height);
    if (gap === 0) return;
    context.fillStyle = colour('--ground');
    for (let row = 1; row <= scene.rows.length; row++) context.fillRect(scene.gutter, yOf(scene, row) - gap, scene.width - scene.gutter, gap);
}

function fadeRows(context: CanvasRenderingContext2D, scene: Scene): void {
    const { ranks, gutter } = scene;
    if (!ranks) return;
    context.globalAlpha = 1 - FADED;
    context.fillStyle = colour('--ground');
    scene.rows.forEach((row, at) => {
        if (!row.ranks.some((rank) => ranks.has(rank))) context.fillRect(gutter, yOf(scene, at), scene.width - gutter, rowHeight(scene));
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
    const { calls = [] } = scene;
    const call = calls.find(({ rank, enter }) => rank === chosen.rank && enter === chosen.enter);
    const { y, height } = (call && placesOf(scene, calls)(call)) ?? { y: yOf(scene, row), height: rowHeight(scene) - 1 };
    context.strokeStyle = colour('--ground');
    context.lineWidth = 4;
    context.strokeRect(left - 1, y, width + 2, height);
    context.strokeStyle = colour('--accent');
    context.lineWidth = 2;
    context.strokeRect(left - 1, y, width + 2, height);
}

function paintAxis(context: CanvasRenderingContext2D, scene: Scene): void {
    const { gutter, axis, larger } = scene;
    context.font = fontOf(scene);
    context.textBaseline = 'alphabetic';
    for (const { at, label } of marks(scene.span, (scene.width - gutter) / (MARK_EVERY * larger))) {
        const x = Math.round(xOf(scene, at)) + 0.5;
        context.fillStyle = colour('--line');
        context.fillRect(x - 0.5, axis - 7, 1, 7);
        const room = scene.width - x - 3;
        context.fillStyle = colour('--quiet');
        if (context.measureText(label).width < room) context.fillText(label, x + 3, axis - 9);
    }
    context.fillStyle = colour('--line');
    context.fillRect(gutter, axis - 1, scene.width - gutter, 1);
}

function paintLabels(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil((NAME_EVERY * scene.larger) / height));
    context.font = fontOf(scene);
    context.textBaseline = 'middle';
    scene.rows.forEach((row, at) => {
        if (at % each !== 0 || yOf(scene, at) + LETTERS * scene.larger > scene.height) return;
        const selected = scene.ranks !== undefined && row.ranks.some((rank) => scene.ranks?.has(rank));
        context.fillStyle = colour(selected ? '--accent' : '--quiet');
        const middle = each === 1 ? height / 2 : (NAME_EVERY * scene.larger) / 2;
        context.fillText(shortened(context, row.label, scene.gutter - 10), 4, yOf(scene, at) + middle);
    });
}

/** Which lane is which thread, where there is room to say it. */
function paintThreads(context: CanvasRenderingContext2D, scene: Scene): void {
    const lanes = lanesOf(scene.calls ?? []);
    const height = rowHeight(scene);
    context.fillStyle = colour('--quiet');
    context.textAlign = 'right';
    scene.rows.forEach(({ ranks: [rank = -1] }, row) => {
        const many = lanes.get(rank) ?? 1;
        if (many < 2 || height / many < LETTERS * scene.larger) return;
        for (let lane = 0; lane < many; lane++) {
            context.fillText(`thread ${lane}`, scene.gutter - 6, yOf(scene, row) + ((lane + 0.5) * height) / many);
        }
    });
    context.textAlign = 'left';
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
    if (context.measureText(text).width <= room) return text;
    let end = text.length - 1;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > room) end--;
    return `${text.slice(0, end)}…`;
}
