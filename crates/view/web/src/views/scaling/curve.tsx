// The time over one parameter: the model with its band, what was measured, and what is predicted.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Curve, Prediction, Scaling } from '../../answers/scaling';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import type { Entry } from '../../charts/legend';
import { brief } from '../../units';
import { plain, value } from './words';

export interface Scales {
    x: 'log' | 'linear';
    y: 'log' | 'linear';
}

interface Props {
    scaling: Scaling;
    curve: Curve;
    scales: Scales;
}

interface Place {
    x: number;
    low: number;
    middle: number;
    high: number;
}

const LEGEND: Entry[] = [
    { label: 'model', variable: '--sending', mark: 'line' },
    { label: '95 of 100 runs', variable: '--receiving' },
    { label: 'measured', variable: '--waiting' },
    { label: 'predicted', variable: '--one-sided' },
];

export function TimeCurve({ scaling, curve, scales }: Props) {
    const { parameter } = curve;
    const isRanks = parameter === 'p';
    const measuredTo = scaling.parameters.find(({ name }) => name === parameter)?.to ?? Infinity;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const places: Place[] = curve.x.map((x, at) => {
                const [low, middle, high] = curve.seconds[at] ?? [NaN, NaN, NaN];
                return { x, low, middle, high };
            });
            const positive = places.filter(({ middle }) => middle > 0).map(({ middle }) => middle);
            // A band that reaches down to nothing would make everything else flat on a scale of factors.
            const least = Math.min(...positive, ...curve.measured.map(({ seconds }) => seconds)) / 4;
            const floor = (number: number) => (scales.y === 'log' ? Math.max(least, number) : number);
            const first = places[0];
            const ideal = ({ x }: Place) => (first ? (first.middle * first.x) / x : NaN);
            const show = (number: number) => value(number, scaling.unit);
            const shortly = (number: number) => brief(show(number));
            const best = curve.forecast?.best;
            return {
                height: 380,
                marginLeft: 70,
                x: { type: scales.x, label: isRanks ? 'processes' : parameter, ticks: 8, tickFormat: plain },
                y: { type: scales.y, label: null, grid: true, ticks: 6, tickFormat: shortly, zero: scales.y === 'linear' },
                marks: [
                    Plot.areaY(places, {
                        x: 'x',
                        y1: ({ low }: Place) => floor(low),
                        y2: ({ high }: Place) => floor(high),
                        fill: colour('--receiving'),
                        fillOpacity: 0.3,
                    }),
                    Plot.line(isRanks ? places.filter((place) => ideal(place) >= floor(0)) : [], {
                        x: 'x',
                        y: ideal,
                        stroke: colour('--quiet'),
                        strokeDasharray: '4 4',
                    }),
                    Plot.line(places, { x: 'x', y: ({ middle }: Place) => floor(middle), stroke: colour('--sending'), strokeWidth: 2 }),
                    ...(best ? [Plot.ruleX([best.time], { stroke: colour('--one-sided'), strokeWidth: 1.5, strokeDasharray: '2 3' })] : []),
                    Plot.ruleX(
                        curve.measured.filter(({ between }) => between !== null),
                        {
                            x: 'x',
                            y1: ({ between }) => between?.[0],
                            y2: ({ between }) => between?.[1],
                            stroke: colour('--waiting'),
                            strokeWidth: 1.5,
                        },
                    ),
                    Plot.dot(
                        (curve.forecast?.predictions ?? []).filter(({ times_beyond: beyond }) => beyond > 1),
                        {
                            x: (one: Prediction) => one.params[parameter],
                            y: ({ seconds }: Prediction) => floor(seconds[1]),
                            stroke: colour('--one-sided'),
                            fill: colour('--ground'),
                            symbol: 'diamond',
                            r: 4.5,
                            title: ({ params, seconds: [low, middle, high] }: Prediction) =>
                                `${parameter} = ${params[parameter]}: ${show(middle)} [${show(low)}, ${show(high)}]`,
                        },
                    ),
                    Plot.dot(curve.measured, {
                        x: 'x',
                        y: 'seconds',
                        fill: colour('--waiting'),
                        r: 4.5,
                        title: ({ x, seconds }: { x: number; seconds: number }) => `measured at ${parameter} = ${x}: ${show(seconds)}`,
                    }),
                    Plot.ruleX([measuredTo], { stroke: colour('--line'), strokeWidth: 1.5 }),
                    Plot.text([measuredTo], {
                        x: (x: number) => x,
                        text: () => 'measured up to here',
                        frameAnchor: 'bottom',
                        rotate: -90,
                        textAnchor: 'start',
                        dx: -7,
                        dy: -4,
                        fill: colour('--quiet'),
                    }),
                ],
            };
        },
        [scaling, curve, scales.x, scales.y],
    );
    return (
        <Figure
            title={`${scaling.quantity.charAt(0).toUpperCase()}${scaling.quantity.slice(1)} over ${isRanks ? 'the number of processes' : parameter}`}
            legend={isRanks ? [...LEGEND, { label: 'ideal', variable: '--quiet', mark: 'line' }] : LEGEND}
            table={() => ({
                columns: [parameter, ...['low', 'middle', 'high', 'measured'].map((what) => `${what} (${scaling.unit})`), 'what'],
                rows: [
                    ...curve.x.map((x, at) => [x, ...(curve.seconds[at] ?? []), null, 'model']),
                    ...curve.measured.map(({ x, seconds }) => [x, null, null, null, seconds, 'measured']),
                    ...(curve.forecast?.predictions ?? []).map(({ params, seconds }) => [params[parameter], ...seconds, null, 'predicted']),
                ],
            })}
        >
            <Chart label={`${scaling.quantity} over ${parameter}: the model with its band, and what was measured`} draw={draw} />
        </Figure>
    );
}
