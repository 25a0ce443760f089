// Exports the matrix as SVG.

import { canvasRenderer, svgRenderer } from '../../charts/renderer';
import { svgElement } from '../../charts/svg';
import { drawCells, drawFrame, type MatrixDrawing, visiblePairs } from './draw-matrix';
import { formatAmount } from './matrix';

/** With more cells than this the SVG would be too large for most programs, so they are embedded as an image. */
const MAX_BOXES = 20_000;
const KEY_HEIGHT = 44;
const KEY_WIDTH = 260;

export function matrixSvg(drawing: MatrixDrawing, selected: Set<number>): SVGSVGElement {
    const { layout } = drawing;
    const result = svgElement('svg', { width: layout.width, height: layout.height + KEY_HEIGHT });
    const renderer = svgRenderer(result);
    if (visiblePairs(drawing).length > MAX_BOXES) result.append(cellImage(drawing));
    else drawCells(renderer, drawing);
    drawFrame(renderer, drawing, { selected, cursor: undefined });
    drawKey(result, drawing);
    return result;
}

function cellImage(drawing: MatrixDrawing): SVGImageElement {
    const { width, height, left, top, side } = drawing.layout;
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [side, side];
    const context = canvas.getContext('2d');
    if (context) {
        context.translate(-left, -top);
        drawCells(canvasRenderer(context), drawing);
    }
    return svgElement('image', { x: left, y: top, width: Math.min(side, width), height: Math.min(side, height), href: canvas.toDataURL() });
}

function drawKey(result: SVGSVGElement, { layout, ramp, matrix, colours }: MatrixDrawing): void {
    const renderer = svgRenderer(result);
    const y = layout.height + 8;
    const step = KEY_WIDTH / ramp.steps.length;
    for (const [index, colour] of ramp.steps.entries()) renderer.box(layout.left + index * step, y, step + 0.5, 12, colour);
    const style = { colour: colours.text };
    renderer.text(layout.left, y + 22, formatAmount(matrix.unit, ramp.valueAt(0)), style);
    renderer.text(layout.left + KEY_WIDTH / 2, y + 22, formatAmount(matrix.unit, ramp.valueAt(0.5)), { ...style, anchor: 'middle' });
    renderer.text(layout.left + KEY_WIDTH, y + 22, formatAmount(matrix.unit, ramp.valueAt(1)), { ...style, anchor: 'end' });
    renderer.text(layout.left + KEY_WIDTH + 10, y + 6, matrix.unit, style);
}
