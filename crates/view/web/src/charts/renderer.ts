// Drawing operations with two back ends: a canvas, and an SVG for export.

import { fontScale } from './font-scale';
import { svgElement } from './svg';

export interface TextStyle {
    colour: string;
    anchor?: 'start' | 'middle' | 'end';
    bold?: boolean;
    /** Rotated by 90 degrees around its anchor. */
    vertical?: boolean;
}

export interface Renderer {
    box(x: number, y: number, width: number, height: number, fill: string): void;
    frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void;
    /** Vertically centred on `y`. */
    text(x: number, y: number, text: string, lettering: TextStyle): void;
    /** Clips drawing to a rectangle. */
    clipped(x: number, y: number, width: number, height: number, draw: () => void): void;
}

const FONT = 'system-ui, sans-serif';
/** In pixels, at the default font scale. */
const FONT_SIZE = 12;

export function canvasRenderer(context: CanvasRenderingContext2D): Renderer {
    // Parsing a colour costs more than filling a small rectangle.
    let current = '';
    const scale = fontScale();
    return {
        box(x, y, width, height, fill) {
            if (fill !== current) context.fillStyle = fill;
            current = fill;
            context.fillRect(x, y, width, height);
        },
        frame(x, y, width, height, stroke, thickness) {
            context.strokeStyle = stroke;
            context.lineWidth = thickness;
            context.strokeRect(x, y, width, height);
        },
        text(x, y, text, { colour, anchor = 'start', bold = false, vertical = false }) {
            context.save();
            context.translate(x, y);
            if (vertical) context.rotate(-Math.PI / 2);
            context.fillStyle = colour;
            context.font = `${bold ? 600 : 400} ${FONT_SIZE * scale}px ${FONT}`;
            context.textAlign = anchor === 'middle' ? 'center' : anchor;
            context.textBaseline = 'middle';
            context.fillText(text, 0, 0);
            context.restore();
            current = '';
        },
        clipped(x, y, width, height, draw) {
            context.save();
            context.beginPath();
            context.rect(x, y, width, height);
            context.clip();
            current = '';
            draw();
            context.restore();
            current = '';
        },
    };
}

export function svgRenderer(root: SVGSVGElement): Renderer {
    let container: SVGElement = root;
    let clips = 0;
    const scale = fontScale();
    const round = (value: number): number => Math.round(100 * value) / 100;
    const box = (x: number, y: number, width: number, height: number) => ({ x: round(x), y: round(y), width: round(width), height: round(height) });
    return {
        box: (x, y, width, height, fill) => container.append(svgElement('rect', { ...box(x, y, width, height), fill })),
        frame: (x, y, width, height, stroke, thickness) =>
            container.append(svgElement('rect', { ...box(x, y, width, height), fill: 'none', stroke, 'stroke-width': thickness })),
        text(x, y, text, { colour, anchor = 'start', bold = false, vertical = false }) {
            const turned: Record<string, string> = vertical ? { transform: `rotate(-90 ${round(x)} ${round(y)})` } : {};
            const font = { 'font-family': 'sans-serif', 'font-size': FONT_SIZE * scale, 'font-weight': bold ? 600 : 400 };
            container.append(
                svgElement('text', { x: round(x), y: round(y), dy: '0.35em', fill: colour, 'text-anchor': anchor, ...font, ...turned }, text),
            );
        },
        clipped(x, y, width, height, draw) {
            const id = `inside-${clips++}`;
            root.append(svgElement('clipPath', { id }, svgElement('rect', box(x, y, width, height))));
            const [outer, group] = [container, svgElement('g', { 'clip-path': `url(#${id})` })];
            outer.append(group);
            container = group;
            draw();
            container = outer;
        },
    };
}
