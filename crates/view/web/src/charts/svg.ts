// Exports a chart as a standalone SVG with title, legend and resolved colours.

import { cssColour } from './colours';
import type { LegendEntry } from './legend';

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
const MARGIN = 12;
const TITLE_HEIGHT = 24;
const LEGEND_LINE_HEIGHT = 20;
const CHAR_WIDTH = 7;

/** Creates an SVG element. */
export function svgElement<Name extends keyof SVGElementTagNameMap>(
    name: Name,
    attributes: Record<string, string | number> = {},
    ...inside: (Node | string)[]
): SVGElementTagNameMap[Name] {
    const result = document.createElementNS(SVG_NAMESPACE, name);
    for (const [attribute, value] of Object.entries(attributes)) result.setAttribute(attribute, String(value));
    result.append(...inside);
    return result;
}

/** Properties that determine the appearance, and whether children inherit them. */
const STYLE_PROPERTIES: [property: string, inherited: boolean][] = [
    ['fill', true],
    ['fill-opacity', true],
    ['stroke', true],
    ['stroke-width', true],
    ['stroke-opacity', true],
    ['stroke-dasharray', true],
    ['stroke-linecap', true],
    ['stroke-linejoin', true],
    ['paint-order', true],
    ['font-family', true],
    ['font-size', true],
    ['font-weight', true],
    ['font-style', true],
    ['font-variant', true],
    ['text-anchor', true],
    ['visibility', true],
    ['opacity', false],
    ['display', false],
    ['dominant-baseline', false],
];

/** Copies an SVG and replaces its stylesheet by inline styles. */
function withInlineStyles(shown: SVGSVGElement): SVGSVGElement {
    const copy = shown.cloneNode(true) as SVGSVGElement;
    const pairs: [Element, Element, CSSStyleDeclaration | undefined][] = [[shown, copy, undefined]];
    for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
        const [from, to, above] = pair;
        const style = getComputedStyle(from);
        const looks = STYLE_PROPERTIES.filter(([property, inherited]) => {
            const value = style.getPropertyValue(property);
            return inherited ? !above || value !== above.getPropertyValue(property) : value !== DEFAULT_STYLES[property];
        }).map(([property]) => `${property}:${style.getPropertyValue(property)}`);
        if (looks.length > 0) to.setAttribute('style', looks.join(';'));
        else to.removeAttribute('style');
        to.removeAttribute('class');
        [...from.children].forEach((child, index) => {
            const twin = to.children[index];
            if (twin && child instanceof SVGElement && !(child instanceof SVGStyleElement)) pairs.push([child, twin, style]);
        });
    }
    for (const style of copy.querySelectorAll('style')) style.remove();
    return copy;
}

const DEFAULT_STYLES: Record<string, string> = { opacity: '1', display: 'inline', 'dominant-baseline': 'auto' };

/** The text of the SVG file. */
export function standaloneSvg(title: string, legend: LegendEntry[], shown: SVGSVGElement): string {
    const chart = shown.isConnected ? withInlineStyles(shown) : shown;
    const drawn = (side: string) => Number(shown.getAttribute(side));
    const size = shown.isConnected ? shown.getBoundingClientRect() : { width: drawn('width'), height: drawn('height') };
    const width = Math.max(size.width, 200) + 2 * MARGIN;
    const text = { fill: cssColour('--text'), 'font-family': 'sans-serif' };
    const head = [
        svgElement('title', {}, title),
        svgElement('rect', { width: '100%', height: '100%', fill: cssColour('--background') }),
        svgElement('text', { ...text, x: MARGIN, y: MARGIN + 12, 'font-size': 14, 'font-weight': 600 }, title),
    ];
    let x = MARGIN;
    let y = MARGIN + TITLE_HEIGHT;
    for (const { label, variable, mark = 'box', isRepeated = false } of legend) {
        const long = 22 + CHAR_WIDTH * label.length + 12;
        if (x > MARGIN && x + long > width - MARGIN) {
            x = MARGIN;
            y += LEGEND_LINE_HEIGHT;
        }
        const box = mark === 'line' ? { y: y + 6, height: 3 } : { y: y + 1, height: 12 };
        head.push(svgElement('rect', { x, width: 14, ...box, fill: cssColour(variable), 'fill-opacity': isRepeated ? 0.5 : 1 }));
        head.push(svgElement('text', { ...text, x: x + 19, y: y + 11, 'font-size': 12 }, label));
        x += long;
    }
    if (legend.length > 0) y += LEGEND_LINE_HEIGHT;
    chart.setAttribute('x', String(MARGIN));
    chart.setAttribute('y', String(y));
    chart.setAttribute('width', String(size.width));
    chart.setAttribute('height', String(size.height));
    const height = y + size.height + MARGIN;
    const whole = svgElement('svg', { xmlns: SVG_NAMESPACE, width, height, viewBox: `0 0 ${width} ${height}` }, ...head, chart);
    return `<?xml version="1.0" encoding="utf-8"?>\n${new XMLSerializer().serializeToString(whole)}\n`;
}
