// Draws a scene on a canvas.

import { cssColour } from '../../charts/colours';
import { textColourOn } from '../../charts/contrast';
import { paintRegions } from './paint-regions';
import { activityImage, planeImage } from './raster-images';
import { rowsByThread } from './region-boxes';
import { rowGap } from './row-gap';
import { hasThreadRows, isHighlighted, laneCounts, rasterLayers, rowHeight, rowsByRank, rowToY, type Scene, timeToX } from './scene';
import { axisTicks } from './time-span';
import type { Call, Raster } from './timeline-data';

/** Font size at the default scale, spacing of axis ticks, and spacing of row labels, in pixels. */
export const FONT_SIZE = 12;
export const TICK_SPACING = 110;
export const LABEL_SPACING = 14;
const FADED_OPACITY = 0.22;

/** Thickness of the strips for waiting and for the critical path, by row height. */
export const waitingThickness = (height: number): number => Math.max(1, Math.min(7, 0.25 * height));
export const pathThickness = (height: number): number => Math.max(1, Math.min(3, 0.2 * height));

const canvasFont = ({ fontScale }: Scene): string => `${FONT_SIZE * fontScale}px system-ui, sans-serif`;

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
    const { gutter, axis } = scene;
    context.clearRect(0, 0, scene.width, scene.height);
    context.save();
    context.beginPath();
    context.rect(gutter, axis, scene.width - gutter, scene.height - axis);
    context.clip();
    const shown = rasterLayers(scene.rasters, scene.span);
    for (const raster of shown) paintRaster(context, scene, raster);
    if (scene.regions) {
        context.font = canvasFont(scene);
        paintRegions(context, scene, FONT_SIZE * scene.fontScale);
    }
    if (scene.calls) paintCalls(context, scene, scene.calls);
    for (const raster of shown) paintStrips(context, scene, raster);
    paintGaps(context, scene);
    fadeRows(context, scene);
    if (scene.messages) paintMessages(context, scene);
    paintSelectedCall(context, scene);
    context.restore();
    paintAxis(context, scene);
    paintLabels(context, scene);
    paintThreads(context, scene);
}

function paintRaster(context: CanvasRenderingContext2D, scene: Scene, raster: Raster): void {
    const image = activityImage(raster, scene.hiddenKinds, scene.calls !== undefined);
    const left = timeToX(scene, raster.span.from);
    context.imageSmoothingEnabled = false;
    context.clearRect(left, scene.axis, timeToX(scene, raster.span.to) - left, scene.height - scene.axis);
    context.drawImage(image, left, scene.axis, timeToX(scene, raster.span.to) - left, scene.height - scene.axis);
}

function paintStrips(context: CanvasRenderingContext2D, scene: Scene, raster: Raster): void {
    const height = rowHeight(scene);
    const left = timeToX(scene, raster.span.from);
    const width = timeToX(scene, raster.span.to) - left;
    const waiting = scene.showsWaiting && !scene.calls && raster.waiting && planeImage(raster, raster.waiting, '--waiting');
    const noCore = scene.showsNoCore && raster.noCore && planeImage(raster, raster.noCore, '--no-core');
    const path = scene.showsPath && raster.path && planeImage(raster, raster.path, '--path');
    context.imageSmoothingEnabled = false;
    for (let row = 0; row < raster.rows.length; row++) {
        const stretched = (image: CanvasImageSource, top: number, thickness: number) =>
            context.drawImage(image, 0, row, raster.columns, 1, left, top, width, thickness);
        if (waiting) stretched(waiting, rowToY(scene, row), waitingThickness(height));
        if (noCore) stretched(noCore, rowToY(scene, row) + waitingThickness(height), waitingThickness(height));
        if (path) stretched(path, rowToY(scene, row + 1) - rowGap(height) - pathThickness(height), pathThickness(height));
    }
}

function paintCalls(context: CanvasRenderingContext2D, scene: Scene, calls: Call[]): void {
    const place = callBoxes(scene, calls);
    const fills = scene.kinds.map((kind) => (kind === 'absent' ? cssColour('--surface') : cssColour(`--${kind}`)));
    const textColours = fills.map(textColourOn);
    const waiting = cssColour('--waiting');
    context.font = canvasFont(scene);
    context.textBaseline = 'middle';
    for (const call of calls) {
        const box = place(call);
        if (!box || scene.hiddenKinds.has(scene.kinds[call.kind] ?? '')) continue;
        context.globalAlpha = isHighlighted(scene, call) ? 1 : FADED_OPACITY;
        context.fillStyle = fills[call.kind] ?? '';
        context.fillRect(box.x, box.y, box.width, box.height);
        if (scene.showsWaiting && call.wait > 0) {
            context.fillStyle = waiting;
            const part = Math.min(1, call.wait / Math.max(1, call.leave - call.enter));
            context.fillRect(box.x, box.y, box.width * part, waitingThickness(box.height));
        }
        if (box.height < FONT_SIZE * scene.fontScale || box.width < 24) continue;
        const from = Math.max(box.x, scene.gutter);
        const available = Math.min(box.x + box.width, scene.width) - from - 8;
        const label = call.operation.replace(/^MPI_/, '');
        if (context.measureText(label).width > available) continue;
        context.fillStyle = scene.kinds[call.kind] === 'absent' ? cssColour('--text') : (textColours[call.kind] ?? '');
        context.fillText(label, from + 4, box.y + box.height / 2 + 1);
    }
    context.globalAlpha = 1;
}

interface CallBox {
    x: number;
    y: number;
    width: number;
    height: number;
}

/** Boxes of the calls: each thread of a rank has a lane in the rank's row, or a row. Undefined for calls outside the window. */
export function callBoxes(scene: Scene, calls: Call[]): (call: Call) => CallBox | undefined {
    const [byRank, byThread] = [rowsByRank(scene.rows), rowsByThread(scene)];
    const hasRows = hasThreadRows(scene);
    const height = rowHeight(scene);
    const lanes = laneCounts({ calls, rows: scene.rows });
    return (call) => {
        const row = hasRows ? byThread(call.rank, call.thread, 0) : byRank.get(call.rank);
        if (row === undefined || call.leave < scene.span.from || call.enter > scene.span.to) return undefined;
        const count = lanes.get(call.rank) ?? 1;
        const lane = (height - rowGap(height)) / count;
        const gap = count > 1 ? rowGap(lane) : 0;
        const x = Math.max(scene.gutter - 2, timeToX(scene, call.enter));
        const end = Math.min(scene.width + 2, timeToX(scene, call.leave));
        return { x, y: rowToY(scene, row) + (hasRows ? 0 : call.thread * lane), width: Math.max(0.75, end - x), height: lane - gap };
    };
}

function paintGaps(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const gap = rowGap(height);
    if (gap === 0) return;
    context.fillStyle = cssColour('--background');
    for (let row = 1; row <= scene.rows.length; row++) context.fillRect(scene.gutter, rowToY(scene, row) - gap, scene.width - scene.gutter, gap);
}

function fadeRows(context: CanvasRenderingContext2D, scene: Scene): void {
    const { ranks, gutter } = scene;
    if (!ranks) return;
    context.globalAlpha = 1 - FADED_OPACITY;
    context.fillStyle = cssColour('--background');
    scene.rows.forEach((row, index) => {
        if (!row.ranks.some((rank) => ranks.has(rank))) context.fillRect(gutter, rowToY(scene, index), scene.width - gutter, rowHeight(scene));
    });
    context.globalAlpha = 1;
}

function paintMessages(context: CanvasRenderingContext2D, scene: Scene): void {
    const rows = rowsByRank(scene.rows);
    const middle = rowHeight(scene) / 2;
    for (const message of scene.messages ?? []) {
        const from = rows.get(message.from);
        const to = rows.get(message.to);
        if (from === undefined || to === undefined || message.received < scene.span.from || message.sent > scene.span.to) continue;
        const { selectedCall } = scene;
        const own =
            selectedCall !== undefined &&
            ((message.from === selectedCall.rank && message.sent === selectedCall.enter) ||
                (message.to === selectedCall.rank && message.received === selectedCall.leave));
        context.strokeStyle = cssColour('--text');
        context.fillStyle = cssColour('--text');
        context.globalAlpha = own ? 1 : 0.55;
        context.lineWidth = own ? 2 : 1;
        drawArrow(context, timeToX(scene, message.sent), rowToY(scene, from) + middle, timeToX(scene, message.received), rowToY(scene, to) + middle);
    }
    context.globalAlpha = 1;
}

function drawArrow(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
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

/** A frame that remains visible however short the call is. */
function paintSelectedCall(context: CanvasRenderingContext2D, scene: Scene): void {
    const { selectedCall } = scene;
    const row = selectedCall && rowsByRank(scene.rows).get(selectedCall.rank);
    if (!selectedCall || row === undefined) return;
    const left = timeToX(scene, selectedCall.enter);
    const width = Math.max(4, timeToX(scene, selectedCall.leave ?? selectedCall.enter) - left);
    const { calls = [] } = scene;
    const call = calls.find(({ rank, enter }) => rank === selectedCall.rank && enter === selectedCall.enter);
    const { y, height } = (call && callBoxes(scene, calls)(call)) ?? { y: rowToY(scene, row), height: rowHeight(scene) - 1 };
    context.strokeStyle = cssColour('--background');
    context.lineWidth = 4;
    context.strokeRect(left - 1, y, width + 2, height);
    context.strokeStyle = cssColour('--accent');
    context.lineWidth = 2;
    context.strokeRect(left - 1, y, width + 2, height);
}

function paintAxis(context: CanvasRenderingContext2D, scene: Scene): void {
    const { gutter, axis, fontScale } = scene;
    context.font = canvasFont(scene);
    context.textBaseline = 'alphabetic';
    for (const { time, label } of axisTicks(scene.span, (scene.width - gutter) / (TICK_SPACING * fontScale))) {
        const x = Math.round(timeToX(scene, time)) + 0.5;
        context.fillStyle = cssColour('--line');
        context.fillRect(x - 0.5, axis - 7, 1, 7);
        const available = scene.width - x - 3;
        context.fillStyle = cssColour('--muted');
        if (context.measureText(label).width < available) context.fillText(label, x + 3, axis - 9);
    }
    context.fillStyle = cssColour('--line');
    context.fillRect(gutter, axis - 1, scene.width - gutter, 1);
}

function paintLabels(context: CanvasRenderingContext2D, scene: Scene): void {
    const height = rowHeight(scene);
    const each = Math.max(1, Math.ceil((LABEL_SPACING * scene.fontScale) / height));
    context.font = canvasFont(scene);
    context.textBaseline = 'middle';
    scene.rows.forEach((row, index) => {
        if (index % each !== 0 || rowToY(scene, index) + FONT_SIZE * scene.fontScale > scene.height) return;
        const selected = scene.ranks !== undefined && row.ranks.some((rank) => scene.ranks?.has(rank));
        context.fillStyle = cssColour(selected ? '--accent' : '--muted');
        const middle = each === 1 ? height / 2 : (LABEL_SPACING * scene.fontScale) / 2;
        context.fillText(truncateText(context, row.label, scene.gutter - 10), 4, rowToY(scene, index) + middle);
    });
}

/** Labels the lanes with their threads if there is room. */
function paintThreads(context: CanvasRenderingContext2D, scene: Scene): void {
    const lanes = laneCounts(scene);
    const height = rowHeight(scene);
    context.fillStyle = cssColour('--muted');
    context.textAlign = 'right';
    scene.rows.forEach(({ ranks: [rank = -1] }, row) => {
        const count = lanes.get(rank) ?? 1;
        if (count < 2 || height / count < FONT_SIZE * scene.fontScale) return;
        for (let lane = 0; lane < count; lane++) {
            context.fillText(`thread ${lane}`, scene.gutter - 6, rowToY(scene, row) + ((lane + 0.5) * height) / count);
        }
    });
    context.textAlign = 'left';
}

function truncateText(context: CanvasRenderingContext2D, text: string, available: number): string {
    if (context.measureText(text).width <= available) return text;
    let end = text.length - 1;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > available) end--;
    return `${text.slice(0, end)}…`;
}
