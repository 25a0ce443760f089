// One drawing for a canvas and for a saved picture: whoever draws with a pen need not know which it is.

import { growth } from './growth';
import { element } from './svg';

export interface Lettering {
    colour: string;
    anchor?: 'start' | 'middle' | 'end';
    bold?: boolean;
    /** Turned upwards, around its point. */
    upwards?: boolean;
}

export interface Pen {
    box(x: number, y: number, width: number, height: number, fill: string): void;
    frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void;
    /** Its middle stands at this height. */
    text(x: number, y: number, text: string, lettering: Lettering): void;
    /** Draws only inside a box. */
    inside(x: number, y: number, width: number, height: number, draw: () => void): void;
}

const FONT = 'system-ui, sans-serif';
/** In pixels, on usual screens. */
const SIZE = 12;

export function canvasPen(context: CanvasRenderingContext2D): Pen {
    // To read a colour takes longer than to draw a small box with it.
    let present = '';
    const larger = growth();
    return {
        box(x, y, width, height, fill) {
            if (fill !== present) context.fillStyle = fill;
            present = fill;
            context.fillRect(x, y, width, height);
        },
        frame(x, y, width, height, stroke, thickness) {
            context.strokeStyle = stroke;
            context.lineWidth = thickness;
            context.strokeRect(x, y, width, height);
        },
        text(x, y, text, { colour, anchor = 'start', bold = false, upwards = false }) {
            context.save();
            context.translate(x, y);
            if (upwards) context.rotate(-Math.PI / 2);
            context.fillStyle = colour;
            context.font = `${bold ? 600 : 400} ${SIZE * larger}px ${FONT}`;
            context.textAlign = anchor === 'middle' ? 'center' : anchor;
            context.textBaseline = 'middle';
            context.fillText(text, 0, 0);
            context.restore();
            present = '';
        },
        inside(x, y, width, height, draw) {
            context.save();
            context.beginPath();
            context.rect(x, y, width, height);
            context.clip();
            present = '';
            draw();
            context.restore();
            present = '';
        },
    };
}

/** A pen that draws into a picture. */
export function svgPen(picture: SVGSVGElement): Pen {
    let place: SVGElement = picture;
    let clips = 0;
    const larger = growth();
    const round = (value: number): number => Math.round(100 * value) / 100;
    const box = (x: number, y: number, width: number, height: number) => ({ x: round(x), y: round(y), width: round(width), height: round(height) });
    return {
        box: (x, y, width, height, fill) => place.append(element('rect', { ...box(x, y, width, height), fill })),
        frame: (x, y, width, height, stroke, thickness) =>
            place.append(element('rect', { ...box(x, y, width, height), fill: 'none', stroke, 'stroke-width': thickness })),
        text(x, y, text, { colour, anchor = 'start', bold = false, upwards = false }) {
            const turned: Record<string, string> = upwards ? { transform: `rotate(-90 ${round(x)} ${round(y)})` } : {};
            const font = { 'font-family': 'sans-serif', 'font-size': SIZE * larger, 'font-weight': bold ? 600 : 400 };
            place.append(element('text', { x: round(x), y: round(y), dy: '0.35em', fill: colour, 'text-anchor': anchor, ...font, ...turned }, text));
        },
        inside(x, y, width, height, draw) {
            const id = `inside-${clips++}`;
            picture.append(element('clipPath', { id }, element('rect', box(x, y, width, height))));
            const [outer, group] = [place, element('g', { 'clip-path': `url(#${id})` })];
            outer.append(group);
            place = group;
            draw();
            place = outer;
        },
    };
}
