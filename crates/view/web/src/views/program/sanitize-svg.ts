// Sanitises the SVG from the server with an allow list, because it contains names from the program.

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

const ELEMENTS = new Set(['svg', 'g', 'rect', 'circle', 'ellipse', 'line', 'path', 'polyline', 'polygon', 'text', 'tspan', 'title', 'desc', 'style']);

const ATTRIBUTES = new Set(
    [
        'class width height viewBox x y x1 y1 x2 y2 cx cy r rx ry d dx dy points transform',
        'fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray opacity text-anchor font-size font-weight',
    ].flatMap((names) => names.split(' ')),
);

/** The SVG, or `undefined` if it cannot be parsed. */
export function sanitizeSvg(text: string): SVGSVGElement | undefined {
    const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
    const result = parsed.querySelector('parsererror') ? undefined : copyAllowed(parsed.documentElement);
    return result instanceof SVGSVGElement ? result : undefined;
}

function copyAllowed(from: Element): SVGElement | undefined {
    if (from.namespaceURI !== SVG_NAMESPACE || !ELEMENTS.has(from.localName)) return undefined;
    const to = document.createElementNS(SVG_NAMESPACE, from.localName) as SVGElement;
    for (const { name, value } of from.attributes) {
        if (ATTRIBUTES.has(name) && !value.includes('url(')) to.setAttribute(name, value);
    }
    for (const child of from.childNodes) {
        if (child instanceof Element) {
            const inside = copyAllowed(child);
            if (inside) to.append(inside);
        } else if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.CDATA_SECTION_NODE) to.append(child.textContent ?? '');
    }
    return to;
}
