// The matrix as a picture to save.

import { canvasPen, svgPen } from '../../charts/pen';
import { element } from '../../charts/svg';
import { type Drawn, drawAround, drawCells, seenPairs } from './drawing';
import { amount } from './matrix';

/** Beyond so many cells, a picture of boxes would be too large for most programs: they are drawn as an image inside it. */
const MOST_BOXES = 20_000;
const KEY = 44;
const KEY_WIDTH = 260;

export function pictureOf(drawn: Drawn, selected: Set<number>): SVGSVGElement {
    const { layout } = drawn;
    const made = element('svg', { width: layout.width, height: layout.height + KEY });
    const pen = svgPen(made);
    if (seenPairs(drawn).length > MOST_BOXES) made.append(imageOf(drawn));
    else drawCells(pen, drawn);
    drawAround(pen, drawn, { selected, cursor: undefined });
    drawKey(made, drawn);
    return made;
}

function imageOf(drawn: Drawn): SVGImageElement {
    const { width, height, left, top, side } = drawn.layout;
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [side, side];
    const context = canvas.getContext('2d');
    if (context) {
        context.translate(-left, -top);
        drawCells(canvasPen(context), drawn);
    }
    return element('image', { x: left, y: top, width: Math.min(side, width), height: Math.min(side, height), href: canvas.toDataURL() });
}

function drawKey(made: SVGSVGElement, { layout, ramp, matrix, colours }: Drawn): void {
    const pen = svgPen(made);
    const y = layout.height + 8;
    const step = KEY_WIDTH / ramp.steps.length;
    ramp.steps.forEach((colour, at) => pen.box(layout.left + at * step, y, step + 0.5, 12, colour));
    const look = { colour: colours.text };
    pen.text(layout.left, y + 22, amount(matrix.unit, ramp.valueAt(0)), look);
    pen.text(layout.left + KEY_WIDTH / 2, y + 22, amount(matrix.unit, ramp.valueAt(0.5)), { ...look, anchor: 'middle' });
    pen.text(layout.left + KEY_WIDTH, y + 22, amount(matrix.unit, ramp.valueAt(1)), { ...look, anchor: 'end' });
    pen.text(layout.left + KEY_WIDTH + 10, y + 6, matrix.unit, look);
}
