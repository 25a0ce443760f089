// What a log says over time: the values of what was changed, and of what tunlets knew.

import type { Decision, Entry } from '../../answers/tuning';

/** A value that was changed, step by step. */
export interface Steps {
    name: string;
    tunlet: string;
    /** From this moment on the value was this. */
    steps: { time_s: number; value: number }[];
    /** Moments of decisions, also of those that were not carried out. */
    marks: Mark[];
}

export interface Mark {
    time_s: number;
    value: number;
    why: string;
    refused: string | undefined;
    /** In how many processes. */
    processes: number;
}

/** Something that a tunlet measured. */
export interface Measured {
    name: string;
    tunlet: string;
    unit: string;
    points: { time_s: number; value: number }[];
}

/** The same change in several processes is one decision. */
export function decisions(entries: Entry[]): (Decision & { processes: number })[] {
    const found: (Decision & { processes: number })[] = [];
    for (const entry of entries) {
        if (entry.kind !== 'change') continue;
        const last = found.at(-1);
        const isSame =
            last &&
            last.action === entry.action &&
            last.tunlet === entry.tunlet &&
            last.new === entry.new &&
            last.refused === entry.refused &&
            last.rank !== entry.rank &&
            entry.time_s - last.time_s < 0.2;
        if (isSame) last.processes++;
        else found.push({ ...entry, processes: 1 });
    }
    return found;
}

export function changes(entries: Entry[], end: number): Steps[] {
    const found = new Map<string, Steps>();
    for (const one of decisions(entries)) {
        const key = `${one.tunlet} ${one.action}`;
        const series = found.get(key) ?? { name: one.action, tunlet: one.tunlet, steps: [], marks: [] };
        if (series.steps.length === 0 && one.old !== null) series.steps.push({ time_s: 0, value: one.old });
        if (one.refused === undefined) series.steps.push({ time_s: one.time_s, value: one.new });
        series.marks.push({ time_s: one.time_s, value: one.new, why: one.why, refused: one.refused, processes: one.processes });
        found.set(key, series);
    }
    for (const { steps } of found.values()) {
        const last = steps.at(-1);
        if (last && last.time_s < end) steps.push({ time_s: end, value: last.value });
    }
    return [...found.values()];
}

export function measured(entries: Entry[]): Measured[] {
    const found = new Map<string, Measured>();
    for (const entry of entries) {
        if (entry.kind !== 'figures') continue;
        for (const { name, value, unit } of entry.figures) {
            const key = `${entry.tunlet} ${name} ${unit}`;
            const series = found.get(key) ?? { name, tunlet: entry.tunlet, unit, points: [] };
            series.points.push({ time_s: entry.time_s, value });
            found.set(key, series);
        }
    }
    return [...found.values()];
}

export const endOf = (entries: Entry[]): number => entries.reduce((end, { time_s }) => Math.max(end, time_s), 0);

/** Many points thinned to about `most`, which look the same: of each stretch of time the first, the least, the greatest and the last. */
export function thinned<Point extends { time_s: number; value: number }>(points: Point[], most: number): Point[] {
    const [first, last] = [points[0], points.at(-1)];
    if (points.length <= most || !first || !last) return points;
    const stretches = Math.max(1, Math.floor(most / 4));
    const length = (last.time_s - first.time_s) / stretches || 1;
    const kept = new Set<Point>();
    for (let at = 0; at < points.length; ) {
        const begin = points[at] ?? last;
        const end = Math.floor((begin.time_s - first.time_s) / length + 1) * length + first.time_s;
        let [least, greatest, final] = [begin, begin, begin];
        for (let point = points[at]; point && (point === begin || point.time_s < end); point = points[++at]) {
            if (point.value < least.value) least = point;
            if (point.value > greatest.value) greatest = point;
            final = point;
        }
        for (const point of [begin, least, greatest, final]) kept.add(point);
    }
    return points.filter((point) => kept.has(point));
}
