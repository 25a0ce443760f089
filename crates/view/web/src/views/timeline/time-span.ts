// Time spans in nanoseconds since the recording began, and axis ticks.

export interface TimeSpan {
    from: number;
    to: number;
}

export const durationOf = (span: TimeSpan): number => span.to - span.from;
export const isSameSpan = (one: TimeSpan, other: TimeSpan): boolean => one.from === other.from && one.to === other.to;
export const covers = (outer: TimeSpan, inner: TimeSpan): boolean => outer.from <= inner.from && outer.to >= inner.to;
export const overlaps = (one: TimeSpan, other: TimeSpan): boolean => one.from < other.to && one.to > other.from;

/** Clamps a span to `whole`, with a minimum duration; the ends are whole nanoseconds. */
export function clampSpan(span: TimeSpan, whole: TimeSpan, min: number): TimeSpan {
    const length = Math.min(durationOf(whole), Math.max(min, durationOf(span)));
    const middle = (span.from + span.to) / 2;
    const from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
    return { from: Math.floor(from), to: Math.ceil(from + length) };
}

/** Zooms by a factor around a time. */
export function zoomSpan(span: TimeSpan, factor: number, around: number): TimeSpan {
    return { from: around - (around - span.from) * factor, to: around + (span.to - around) * factor };
}

/** Shifts a span by a share of its duration. */
export function shiftSpan(span: TimeSpan, part: number): TimeSpan {
    const by = part * durationOf(span);
    return { from: span.from + by, to: span.to + by };
}

export interface AxisTick {
    time: number;
    label: string;
}

const UNITS: [number, string][] = [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
    [1, 'ns'],
];

/** At most about `max` round times in a span, all in the unit that fits the largest. */
export function axisTicks(span: TimeSpan, max: number): AxisTick[] {
    const step = roundStep(durationOf(span) / Math.max(1, max));
    const [unit, name] = UNITS.find(([size]) => span.to >= size) ?? [1, 'ns'];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
    const found: AxisTick[] = [];
    for (let time = Math.ceil(span.from / step) * step; time <= span.to; time += step)
        found.push({ time, label: `${(time / unit).toFixed(digits)} ${name}` });
    return found;
}

/** The smallest of 1, 2, 5, 10, 20, … that is at least `min`. */
function roundStep(min: number): number {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, min)));
    return power * ([1, 2, 5].find((factor) => factor * power >= min) ?? 10);
}
