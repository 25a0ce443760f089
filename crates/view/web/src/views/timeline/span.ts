// Stretches of time, in nanoseconds since the recording began: how a window moves, and where an axis has marks.

export interface Span {
    from: number;
    to: number;
}

export const lengthOf = (span: Span): number => span.to - span.from;
export const same = (one: Span, other: Span): boolean => one.from === other.from && one.to === other.to;
export const covers = (outer: Span, inner: Span): boolean => outer.from <= inner.from && outer.to >= inner.to;
export const touches = (one: Span, other: Span): boolean => one.from < other.to && one.to > other.from;

/** The nearest span that lies within `whole` and is at least `least` long; its ends are whole nanoseconds. */
export function within(span: Span, whole: Span, least: number): Span {
    const length = Math.min(lengthOf(whole), Math.max(least, lengthOf(span)));
    const middle = (span.from + span.to) / 2;
    const from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
    return { from: Math.floor(from), to: Math.ceil(from + length) };
}

/** `factor` times as long, with the moment `around` where it was. */
export function zoomed(span: Span, factor: number, around: number): Span {
    return { from: around - (around - span.from) * factor, to: around + (span.to - around) * factor };
}

/** Moved by a part of its length. */
export function moved(span: Span, part: number): Span {
    const by = part * lengthOf(span);
    return { from: span.from + by, to: span.to + by };
}

/** A mark of an axis. */
export interface Mark {
    at: number;
    label: string;
}

const UNITS: [number, string][] = [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
    [1, 'ns'],
];

/** Round moments in a span, `most` of them or a few less, all in the unit that fits the largest. */
export function marks(span: Span, most: number): Mark[] {
    const step = roundStep(lengthOf(span) / Math.max(1, most));
    const [unit, name] = UNITS.find(([size]) => span.to >= size) ?? [1, 'ns'];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
    const found: Mark[] = [];
    for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) found.push({ at, label: `${(at / unit).toFixed(digits)} ${name}` });
    return found;
}

/** The smallest of 1, 2, 5, 10, 20, … that is not below `least`. */
function roundStep(least: number): number {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}
