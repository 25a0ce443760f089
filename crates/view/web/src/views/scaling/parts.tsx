// What the time is made of along a parameter: which part takes over.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Curve, Scaling } from '../../answers/scaling';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { styleOf } from '../../charts/series';
import { percent } from '../../units';
import { plain, value } from './words';

interface Piece {
    x: number;
    part: string;
    share: number;
}

export function Parts({ scaling, curve }: { scaling: Scaling; curve: Curve }) {
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const pieces: Piece[] = curve.x.flatMap((x, at) => {
                const sum = curve.parts.reduce((sum, { seconds }) => sum + Math.max(0, seconds[at] ?? 0), 0) || 1;
                return curve.parts.map(({ name, seconds }) => ({ x, part: name, share: Math.max(0, seconds[at] ?? 0) / sum }));
            });
            const style = ({ part }: Piece) => styleOf(curve.parts.findIndex(({ name }) => name === part));
            return {
                height: 240,
                marginLeft: 70,
                x: { type: 'log', label: curve.parameter === 'p' ? 'processes' : curve.parameter, ticks: 8, tickFormat: plain },
                y: { label: null, tickFormat: (share: number) => percent(share), domain: [0, 1], ticks: 5 },
                marks: [
                    Plot.areaY(pieces, {
                        x: 'x',
                        y: 'share',
                        z: 'part',
                        order: curve.parts.map(({ name }) => name),
                        fill: (one: Piece) => colour(style(one).variable),
                        fillOpacity: (one: Piece) => (style(one).again ? 0.5 : 1),
                    }),
                ],
            };
        },
        [curve],
    );
    if (curve.parts.length < 2) return null;
    return (
        <Figure
            title="What the time is made of"
            says="The share of each part of the model."
            legend={curve.parts.map(({ name }, at) => ({ label: name, ...styleOf(at) }))}
            table={() => ({
                columns: [curve.parameter, ...curve.parts.map(({ name }) => `${name} (${scaling.unit})`)],
                rows: curve.x.map((x, at) => [x, ...curve.parts.map(({ seconds }) => seconds[at])]),
            })}
        >
            <Chart label={`The share of each part: ${ends(scaling, curve)}`} draw={draw} />
        </Figure>
    );
}

/** The parts at the end of the curve, for those who cannot see it. */
function ends({ unit }: Scaling, { parts, x, parameter }: Curve): string {
    return `at ${parameter} = ${x.at(-1)}, ${parts.map(({ name, seconds }) => `${name} ${value(seconds.at(-1) ?? 0, unit)}`).join(', ')}`;
}
