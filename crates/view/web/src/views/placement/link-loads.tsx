// Load of the links before and after.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { LinkLoad, Placement } from '../../answers/placement';
import { labelWidth, truncateLabel } from '../../charts/axis-labels';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { bytes, count, seconds, trimZeros } from '../../units';

const MAX_LINKS = 16;
const LEGEND = [
    { label: 'now', variable: '--other' },
    { label: 'placed', variable: '--sending' },
];

const UNKNOWN_NETWORK_NOTE = ' The network is unknown: each host is assumed to have one link to an ideal switch.';

interface Bar {
    name: string;
    when: string;
    load: number;
}

export function LinkLoads({ links }: { links: Placement['links'] }) {
    const { busiest, is_known: isKnown } = links;
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = busiest.slice(0, MAX_LINKS);
            const load = (link: LinkLoad, at: 0 | 1): number => (isKnown ? link.seconds[at] : link.bytes[at]);
            const bars: Bar[] = shown.flatMap((link) => [
                { name: link.name, when: 'now', load: load(link, 0) },
                { name: link.name, when: 'placed', load: load(link, 1) },
            ]);
            const names = shown.map(({ name }) => name);
            const left = labelWidth(names, width);
            const show = isKnown ? seconds : bytes;
            return {
                height: 40 + 26 * shown.length,
                marginLeft: left,
                x: { label: isKnown ? 'busy time' : 'bytes', tickFormat: (value: number) => trimZeros(show(value)), grid: true, ticks: 6 },
                y: { axis: null, domain: ['now', 'placed'] },
                fy: { label: null, domain: names, padding: 0.25, axis: 'left', tickFormat: (name: string) => truncateLabel(name, left) },
                marks: [
                    Plot.barX(bars, {
                        fy: 'name',
                        y: 'when',
                        x: 'load',
                        fill: (bar: Bar) => colour(bar.when === 'now' ? '--other' : '--sending'),
                        title: (bar: Bar) => `${bar.name}, ${bar.when}: ${show(bar.load)}`,
                    }),
                    Plot.ruleX([0]),
                ],
            };
        },
        [links],
    );
    if (busiest.length === 0) return <p class="description">There is no traffic between hosts.</p>;
    return (
        <Figure
            title="Busiest links"
            description={`${count(links.used)} links are used.${isKnown ? '' : UNKNOWN_NETWORK_NOTE}`}
            legend={LEGEND}
            table={() => ({
                columns: ['link', 'now (bytes)', 'placed (bytes)', 'now (s)', 'placed (s)'],
                rows: busiest.map(({ name, bytes, seconds }) => [name, ...bytes, ...seconds]),
            })}
        >
            <Chart label="Load of the busiest links, now and placed, as pairs of bars" draw={draw} />
        </Figure>
    );
}
