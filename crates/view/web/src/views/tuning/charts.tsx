// Values over the time of a tuning: steps of what was changed, lines of what was measured.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { dashes, styleOf } from '../../charts/series';
import { brief, figures, seconds } from '../../units';
import { type Mark, type Measured, type Steps, thinned } from './series';

const HEIGHT = 220;
/** More points than this are not told apart, and more dots would hide their line; both would take long to draw each second. */
const MOST_POINTS = 1000;
const MOST_DOTS = 300;

export function Changed({ series, end }: { series: Steps; end: number }) {
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: HEIGHT,
            marginLeft: 56,
            x: { label: 'since the tuning began', domain: [0, end || 1], tickFormat: (value: number) => brief(seconds(value)), ticks: 8 },
            y: { label: null, grid: true, ticks: 5, nice: true },
            marks: [
                Plot.line(thinned(series.steps, MOST_POINTS), {
                    x: 'time_s',
                    y: 'value',
                    curve: 'step-after',
                    stroke: colour('--sending'),
                    strokeWidth: 2,
                }),
                Plot.dot(thinned(series.marks, MOST_DOTS), {
                    x: 'time_s',
                    y: 'value',
                    symbol: (mark: Mark) => (mark.refused === undefined ? 'circle' : 'times'),
                    fill: (mark: Mark) => (mark.refused === undefined ? colour('--sending') : 'none'),
                    stroke: (mark: Mark) => colour(mark.refused === undefined ? '--sending' : '--waiting'),
                    r: 4,
                    title: words,
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

const words = ({ time_s, value, why, refused }: Mark): string =>
    `${seconds(time_s)}: ${value}\n${why}${refused === undefined ? '' : `\nnot carried out: ${refused}`}`;

/** Everything with one unit that a tunlet measured. */
export function Known({ all, end }: { all: Measured[]; end: number }) {
    const [first] = all;
    const unit = first?.unit ?? '';
    const show = useCallback(
        (value: number) => (unit === 's' ? brief(seconds(value)) : `${figures(value).replace(/\.0+$/, '')}${unit ? ` ${unit}` : ''}`),
        [unit],
    );
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: HEIGHT,
            marginLeft: 66,
            x: { label: 'since the tuning began', domain: [0, end || 1], tickFormat: (value: number) => brief(seconds(value)), ticks: 8 },
            y: { label: null, grid: true, ticks: 5, nice: true, zero: true, tickFormat: show },
            marks: all.flatMap(({ name, points }, at) => {
                const style = styleOf(at);
                const stroke = colour(style.variable);
                const title = ({ time_s, value }: { time_s: number; value: number }) => `${seconds(time_s)}: ${name} ${show(value)}`;
                const line = { x: 'time_s', y: 'value', stroke, strokeWidth: 1.8, strokeDasharray: dashes(style) };
                return [
                    Plot.line(thinned(points, MOST_POINTS), line),
                    Plot.dot(points.length > MOST_DOTS ? [] : points, { x: 'time_s', y: 'value', fill: stroke, r: 2, title }),
                ];
            }),
        }),
        [all, end],
    );
    return (
        <Figure
            title={`What ${first?.tunlet ?? 'the tunlet'} measured${unit ? ` (${unit})` : ''}`}
            legend={all.map(({ name }, at) => ({ label: name, ...styleOf(at), mark: 'line' as const }))}
            table={() => ({
                columns: ['time (s)', 'figure', `value${unit ? ` (${unit})` : ''}`],
                rows: all.flatMap(({ name, points }) => points.map(({ time_s, value }) => [time_s, name, value])),
            })}
        >
            <Chart label={`What was measured over time: ${all.map(({ name }) => name).join(', ')}`} draw={draw} />
        </Figure>
    );
}
