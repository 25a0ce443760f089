// Time series from a tuning log: changed values and metrics.

import type { TuningDecision, TuningEntry } from '../../answers/tuning';

/** A changed value, as steps. */
export interface ValueSteps {
    name: string;
    tunlet: string;
    /** The value from this time on. */
    steps: { time_s: number; value: number }[];
    /** Decisions, including those not carried out. */
    marks: DecisionMark[];
}

export interface DecisionMark {
    time_s: number;
    value: number;
    why: string;
    refused: string | undefined;
    /** Number of processes. */
    processes: number;
}

/** A metric measured by a tunlet. */
export interface MetricSeries {
    name: string;
    tunlet: string;
    unit: string;
    points: { time_s: number; value: number }[];
}

/** Merges the same change in several processes into one decision. */
export function decisions(entries: TuningEntry[]): (TuningDecision & { processes: number })[] {
    const found: (TuningDecision & { processes: number })[] = [];
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

export function changeSeries(entries: TuningEntry[], end: number): ValueSteps[] {
    const found = new Map<string, ValueSteps>();
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

export function metricSeries(entries: TuningEntry[]): MetricSeries[] {
    const found = new Map<string, MetricSeries>();
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

export const endTime = (entries: TuningEntry[]): number => entries.reduce((end, { time_s }) => Math.max(end, time_s), 0);

/** Reduces points to about `max` while keeping their appearance: first, minimum, maximum and last of each interval. */
export function thinOut<Point extends { time_s: number; value: number }>(points: Point[], max: number): Point[] {
    const [first, last] = [points[0], points.at(-1)];
    if (points.length <= max || !first || !last) return points;
    const stretches = Math.max(1, Math.floor(max / 4));
    const length = (last.time_s - first.time_s) / stretches || 1;
    const retained = new Set<Point>();
    for (let index = 0; index < points.length; ) {
        const begin = points[index] ?? last;
        const end = Math.floor((begin.time_s - first.time_s) / length + 1) * length + first.time_s;
        let [least, greatest, final] = [begin, begin, begin];
        for (let point = points[index]; point && (point === begin || point.time_s < end); point = points[++index]) {
            if (point.value < least.value) least = point;
            if (point.value > greatest.value) greatest = point;
            final = point;
        }
        for (const point of [begin, least, greatest, final]) retained.add(point);
    }
    return points.filter((point) => retained.has(point));
}
