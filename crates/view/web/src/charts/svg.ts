// A chart as a picture that stands alone: with its title, its legend, and the colours that it had on the page.

import { colour } from './colours';
import type { Entry } from './legend';

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = 12;
const TITLE = 24;
const LEGEND_LINE = 20;
const LETTER = 7;

/** A new element of a picture. */
export function element<Name extends keyof SVGElementTagNameMap>(
    name: Name,
    attributes: Record<string, string | number> = {},
    ...inside: (Node | string)[]
): SVGElementTagNameMap[Name] {
    const made = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
    made.append(...inside);
    return made;
}

/** What decides how a drawn thing looks; the flag says whether children take it over. */
const LOOKS: [property: string, inherited: boolean][] = [
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

/** A copy of a picture on the page in which nothing depends on the page. */
function alone(shown: SVGSVGElement): SVGSVGElement {
    const copy = shown.cloneNode(true) as SVGSVGElement;
    const pairs: [Element, Element, CSSStyleDeclaration | undefined][] = [[shown, copy, undefined]];
    for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
        const [from, to, above] = pair;
        const style = getComputedStyle(from);
        const looks = LOOKS.filter(([property, inherited]) => {
            const value = style.getPropertyValue(property);
            return inherited ? !above || value !== above.getPropertyValue(property) : value !== USUAL[property];
        }).map(([property]) => `${property}:${style.getPropertyValue(property)}`);
        if (looks.length > 0) to.setAttribute('style', looks.join(';'));
        else to.removeAttribute('style');
        to.removeAttribute('class');
        [...from.children].forEach((child, at) => {
            const twin = to.children[at];
            if (twin && child instanceof SVGElement && !(child instanceof SVGStyleElement)) pairs.push([child, twin, style]);
        });
    }
    for (const style of copy.querySelectorAll('style')) style.remove();
    return copy;
}

const USUAL: Record<string, string> = { opacity: '1', display: 'inline', 'dominant-baseline': 'auto' };

/** The text of a picture file. */
export function picture(title: string, legend: Entry[], shown: SVGSVGElement): string {
    const chart = shown.isConnected ? alone(shown) : shown;
    const drawn = (side: string) => Number(shown.getAttribute(side));
    const size = shown.isConnected ? shown.getBoundingClientRect() : { width: drawn('width'), height: drawn('height') };
    const width = Math.max(size.width, 200) + 2 * MARGIN;
    const text = { fill: colour('--text'), 'font-family': 'sans-serif' };
    const head = [
        element('title', {}, title),
        element('rect', { width: '100%', height: '100%', fill: colour('--ground') }),
        element('text', { ...text, x: MARGIN, y: MARGIN + 12, 'font-size': 14, 'font-weight': 600 }, title),
    ];
    let x = MARGIN;
    let y = MARGIN + TITLE;
    for (const { label, variable, mark = 'box', again = false } of legend) {
        const long = 22 + LETTER * label.length + 12;
        if (x > MARGIN && x + long > width - MARGIN) {
            x = MARGIN;
            y += LEGEND_LINE;
        }
        const box = mark === 'line' ? { y: y + 6, height: 3 } : { y: y + 1, height: 12 };
        head.push(element('rect', { x, width: 14, ...box, fill: colour(variable), 'fill-opacity': again ? 0.5 : 1 }));
        head.push(element('text', { ...text, x: x + 19, y: y + 11, 'font-size': 12 }, label));
        x += long;
    }
    if (legend.length > 0) y += LEGEND_LINE;
    chart.setAttribute('x', String(MARGIN));
    chart.setAttribute('y', String(y));
    chart.setAttribute('width', String(size.width));
    chart.setAttribute('height', String(size.height));
    const height = y + size.height + MARGIN;
    const whole = element('svg', { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` }, ...head, chart);
    return `<?xml version="1.0" encoding="utf-8"?>\n${new XMLSerializer().serializeToString(whole)}\n`;
}
