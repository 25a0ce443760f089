// Shares of the model's parts along a parameter.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { ScalingCurve, ScalingModel } from '../../answers/scaling';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { seriesStyle } from '../../charts/series-style';
import { percent } from '../../units';
import { formatParameter, formatValue } from './format';

interface PartShare {
    x: number;
    part: string;
    share: number;
}

export function PartShares({ scaling, curve }: { scaling: ScalingModel; curve: ScalingCurve }) {
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const pieces: PartShare[] = curve.x.flatMap((x, index) => {
                const sum = curve.parts.reduce((sum, { seconds }) => sum + Math.max(0, seconds[index] ?? 0), 0) || 1;
                return curve.parts.map(({ name, seconds }) => ({ x, part: name, share: Math.max(0, seconds[index] ?? 0) / sum }));
            });
            const style = ({ part }: PartShare) => seriesStyle(curve.parts.findIndex(({ name }) => name === part));
            return {
                height: 240,
                marginLeft: 70,
                x: { type: 'log', label: curve.parameter === 'p' ? 'processes' : curve.parameter, ticks: 8, tickFormat: formatParameter },
                y: { label: null, tickFormat: (share: number) => percent(share), domain: [0, 1], ticks: 5 },
                marks: [
                    Plot.areaY(pieces, {
                        x: 'x',
                        y: 'share',
                        z: 'part',
                        order: curve.parts.map(({ name }) => name),
                        fill: (one: PartShare) => colour(style(one).variable),
                        fillOpacity: (one: PartShare) => (style(one).isRepeated ? 0.5 : 1),
                    }),
                ],
            };
        },
        [curve],
    );
    if (curve.parts.length < 2) return null;
    return (
        <Figure
            title="Breakdown of the time"
            description="Share of each part of the model."
            legend={curve.parts.map(({ name }, index) => ({ label: name, ...seriesStyle(index) }))}
            table={() => ({
                columns: [curve.parameter, ...curve.parts.map(({ name }) => `${name} (${scaling.unit})`)],
                rows: curve.x.map((x, index) => [x, ...curve.parts.map(({ seconds }) => seconds[index])]),
            })}
        >
            <Chart label={`The share of each part: ${describeEnd(scaling, curve)}`} draw={draw} />
        </Figure>
    );
}

/** The parts at the end of the curve, as text for screen readers. */
function describeEnd({ unit }: ScalingModel, { parts, x, parameter }: ScalingCurve): string {
    return `at ${parameter} = ${x.at(-1)}, ${parts.map(({ name, seconds }) => `${name} ${formatValue(seconds.at(-1) ?? 0, unit)}`).join(', ')}`;
}
