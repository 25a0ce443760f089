// Charts over the time of a tuning: changed values as steps, measured values as lines.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { dashPattern, seriesStyle } from '../../charts/series-style';
import { seconds, threeDigits, trimZeros } from '../../units';
import { type DecisionMark, type MetricSeries, thinOut, type ValueSteps } from './series';

const HEIGHT = 220;
/** More points could not be distinguished, more dots would hide the line, and both would be slow to redraw every second. */
const MAX_POINTS = 1000;
const MAX_DOTS = 300;

export function ChangeChart({ series, end }: { series: ValueSteps; end: number }) {
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: HEIGHT,
            marginLeft: 56,
            x: {
                label: 'time since the start of the tuning',
                domain: [0, end || 1],
                tickFormat: (value: number) => trimZeros(seconds(value)),
                ticks: 8,
            },
            y: { label: null, grid: true, ticks: 5, nice: true },
            marks: [
                Plot.line(thinOut(series.steps, MAX_POINTS), {
                    x: 'time_s',
                    y: 'value',
                    curve: 'step-after',
                    stroke: colour('--sending'),
                    strokeWidth: 2,
                }),
                Plot.dot(thinOut(series.marks, MAX_DOTS), {
                    x: 'time_s',
                    y: 'value',
                    symbol: (mark: DecisionMark) => (mark.refused === undefined ? 'circle' : 'times'),
                    fill: (mark: DecisionMark) => (mark.refused === undefined ? colour('--sending') : 'none'),
                    stroke: (mark: DecisionMark) => colour(mark.refused === undefined ? '--sending' : '--waiting'),
                    r: 4,
                    title: markTitle,
                }),
            ],
        }),
        [series, end],
    );
    return (
        <Figure
            title={`${series.name}, changed by ${series.tunlet}`}
            legend={[
                { label: 'value', variable: '--sending', mark: 'line' },
                ...(series.marks.some(({ refused }) => refused !== undefined) ? [{ label: 'not carried out', variable: '--waiting' }] : []),
            ]}
            table={() => ({
                columns: ['time (s)', 'value', 'processes', 'why', 'not carried out because'],
                rows: series.marks.map(({ time_s, value, processes, why, refused }) => [time_s, value, processes, why, refused]),
            })}
        >
            <Chart label={`${series.name} over time, in steps`} draw={draw} />
        </Figure>
    );
}

const markTitle = ({ time_s, value, why, refused }: DecisionMark): string =>
    `${seconds(time_s)}: ${value}\n${why}${refused === undefined ? '' : `\nnot carried out: ${refused}`}`;

/** All metrics of a tunlet with the same unit. */
export function MetricChart({ all, end }: { all: MetricSeries[]; end: number }) {
    const [first] = all;
    const unit = first?.unit ?? '';
    const show = useCallback(
        (value: number) => (unit === 's' ? trimZeros(seconds(value)) : `${threeDigits(value).replace(/\.0+$/, '')}${unit ? ` ${unit}` : ''}`),
        [unit],
    );
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: HEIGHT,
            marginLeft: 66,
            x: {
                label: 'time since the start of the tuning',
                domain: [0, end || 1],
                tickFormat: (value: number) => trimZeros(seconds(value)),
                ticks: 8,
            },
            y: { label: null, grid: true, ticks: 5, nice: true, zero: true, tickFormat: show },
            marks: all.flatMap(({ name, points }, index) => {
                const style = seriesStyle(index);
                const stroke = colour(style.variable);
                const title = ({ time_s, value }: { time_s: number; value: number }) => `${seconds(time_s)}: ${name} ${show(value)}`;
                const line = { x: 'time_s', y: 'value', stroke, strokeWidth: 1.8, strokeDasharray: dashPattern(style) };
                return [
                    Plot.line(thinOut(points, MAX_POINTS), line),
                    Plot.dot(points.length > MAX_DOTS ? [] : points, { x: 'time_s', y: 'value', fill: stroke, r: 2, title }),
                ];
            }),
        }),
        [all, end],
    );
    return (
        <Figure
            title={`Metrics of ${first?.tunlet ?? 'the tunlet'}${unit ? ` (${unit})` : ''}`}
            legend={all.map(({ name }, index) => ({ label: name, ...seriesStyle(index), mark: 'line' as const }))}
            table={() => ({
                columns: ['time (s)', 'metric', `value${unit ? ` (${unit})` : ''}`],
                rows: all.flatMap(({ name, points }) => points.map(({ time_s, value }) => [time_s, name, value])),
            })}
        >
            <Chart label={`Metrics over time: ${all.map(({ name }) => name).join(', ')}`} draw={draw} />
        </Figure>
    );
}
