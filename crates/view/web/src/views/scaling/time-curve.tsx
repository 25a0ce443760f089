// Time over one parameter: model with band, measurements and predictions.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Prediction, ScalingCurve, ScalingModel } from '../../answers/scaling';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import type { LegendEntry } from '../../charts/legend';
import { trimZeros } from '../../units';
import { formatParameter, formatValue } from './format';

export interface AxisScales {
    x: 'log' | 'linear';
    y: 'log' | 'linear';
}

interface Props {
    scaling: ScalingModel;
    curve: ScalingCurve;
    scales: AxisScales;
}

interface CurvePoint {
    x: number;
    low: number;
    middle: number;
    high: number;
}

const LEGEND: LegendEntry[] = [
    { label: 'model', variable: '--sending', mark: 'line' },
    { label: '95 % interval', variable: '--receiving' },
    { label: 'measured', variable: '--waiting' },
    { label: 'predicted', variable: '--one-sided' },
];

export function TimeCurve({ scaling, curve, scales }: Props) {
    const { parameter } = curve;
    const isRanks = parameter === 'p';
    const measuredTo = scaling.parameters.find(({ name }) => name === parameter)?.to ?? Infinity;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const points: CurvePoint[] = curve.x.map((x, index) => {
                const [low, middle, high] = curve.seconds[index] ?? [NaN, NaN, NaN];
                return { x, low, middle, high };
            });
            const positive = points.filter(({ middle }) => middle > 0).map(({ middle }) => middle);
            // A band that reaches down to zero would flatten everything else on a logarithmic axis.
            const min = Math.min(...positive, ...curve.measured.map(({ seconds }) => seconds)) / 4;
            const floor = (number: number) => (scales.y === 'log' ? Math.max(min, number) : number);
            const first = points[0];
            const ideal = ({ x }: CurvePoint) => (first ? (first.middle * first.x) / x : NaN);
            const show = (number: number) => formatValue(number, scaling.unit);
            const tickLabel = (number: number) => trimZeros(show(number));
            const best = curve.forecast?.best;
            return {
                height: 380,
                marginLeft: 70,
                x: { type: scales.x, label: isRanks ? 'processes' : parameter, ticks: 8, tickFormat: formatParameter },
                y: { type: scales.y, label: null, grid: true, ticks: 6, tickFormat: tickLabel, zero: scales.y === 'linear' },
                marks: [
                    Plot.areaY(points, {
                        x: 'x',
                        y1: ({ low }: CurvePoint) => floor(low),
                        y2: ({ high }: CurvePoint) => floor(high),
                        fill: colour('--receiving'),
                        fillOpacity: 0.3,
                    }),
                    Plot.line(isRanks ? points.filter((point) => ideal(point) >= floor(0)) : [], {
                        x: 'x',
                        y: ideal,
                        stroke: colour('--muted'),
                        strokeDasharray: '4 4',
                    }),
                    Plot.line(points, { x: 'x', y: ({ middle }: CurvePoint) => floor(middle), stroke: colour('--sending'), strokeWidth: 2 }),
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
                            fill: colour('--background'),
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
                        text: () => 'end of the measured range',
                        frameAnchor: 'bottom',
                        rotate: -90,
                        textAnchor: 'start',
                        dx: -7,
                        dy: -4,
                        fill: colour('--muted'),
                    }),
                ],
            };
        },
        [scaling, curve, scales.x, scales.y],
    );
    return (
        <Figure
            title={`${scaling.quantity.charAt(0).toUpperCase()}${scaling.quantity.slice(1)} over ${isRanks ? 'the number of processes' : parameter}`}
            legend={isRanks ? [...LEGEND, { label: 'ideal', variable: '--muted', mark: 'line' }] : LEGEND}
            table={() => ({
                columns: [parameter, ...['low', 'middle', 'high', 'measured'].map((what) => `${what} (${scaling.unit})`), 'what'],
                rows: [
                    ...curve.x.map((x, index) => [x, ...(curve.seconds[index] ?? []), null, 'model']),
                    ...curve.measured.map(({ x, seconds }) => [x, null, null, null, seconds, 'measured']),
                    ...(curve.forecast?.predictions ?? []).map(({ params, seconds }) => [params[parameter], ...seconds, null, 'predicted']),
                ],
            })}
        >
            <Chart label={`${scaling.quantity} over ${parameter}: model with band, and measurements`} draw={draw} />
        </Figure>
    );
}
