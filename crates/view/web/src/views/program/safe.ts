// The drawing that the command sends, made safe: only what drawings consist of is taken over, whatever a program is called.

const SVG = 'http://www.w3.org/2000/svg';

const ELEMENTS = new Set(['svg', 'g', 'rect', 'circle', 'ellipse', 'line', 'path', 'polyline', 'polygon', 'text', 'tspan', 'title', 'desc', 'style']);

const ATTRIBUTES = new Set(
    [
        'class width height viewBox x y x1 y1 x2 y2 cx cy r rx ry d dx dy points transform',
        'fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray opacity text-anchor font-size font-weight',
    ].flatMap((names) => names.split(' ')),
);

/** The drawing, or `undefined` if the text is none. */
export function safeDrawing(text: string): SVGSVGElement | undefined {
    const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
    const made = parsed.querySelector('parsererror') ? undefined : copied(parsed.documentElement);
    return made instanceof SVGSVGElement ? made : undefined;
}

function copied(from: Element): SVGElement | undefined {
    if (from.namespaceURI !== SVG || !ELEMENTS.has(from.localName)) return undefined;
    const to = document.createElementNS(SVG, from.localName) as SVGElement;
    for (const { name, value } of from.attributes) {
        if (ATTRIBUTES.has(name) && !value.includes('url(')) to.setAttribute(name, value);
    }
    for (const child of from.childNodes) {
        if (child instanceof Element) {
            const inside = copied(child);
            if (inside) to.append(inside);
        } else if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.CDATA_SECTION_NODE) to.append(child.textContent ?? '');
    }
    return to;
}
