// How busy links are before and after.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Link, Placement } from '../../answers/placement';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { fitting, roomFor } from '../../charts/names';
import { brief, bytes, count, seconds } from '../../units';

const MOST = 16;
const LEGEND = [
    { label: 'now', variable: '--other' },
    { label: 'placed', variable: '--sending' },
];

const UNKNOWN = ' Nothing is known of the network: each host is taken to have one link to a switch that is never in the way.';

interface Bar {
    name: string;
    when: string;
    load: number;
}

export function Links({ links }: { links: Placement['links'] }) {
    const { busiest, is_known: isKnown } = links;
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = busiest.slice(0, MOST);
            const load = (link: Link, at: 0 | 1): number => (isKnown ? link.seconds[at] : link.bytes[at]);
            const bars: Bar[] = shown.flatMap((link) => [
                { name: link.name, when: 'now', load: load(link, 0) },
                { name: link.name, when: 'placed', load: load(link, 1) },
            ]);
            const names = shown.map(({ name }) => name);
            const left = roomFor(names, width);
            const show = isKnown ? seconds : bytes;
            return {
                height: 40 + 26 * shown.length,
                marginLeft: left,
                x: { label: isKnown ? 'busy for' : 'bytes', tickFormat: (value: number) => brief(show(value)), grid: true, ticks: 6 },
                y: { axis: null, domain: ['now', 'placed'] },
                fy: { label: null, domain: names, padding: 0.25, axis: 'left', tickFormat: (name: string) => fitting(name, left) },
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
    if (busiest.length === 0) return <p class="says">Nothing goes from host to host.</p>;
    return (
        <Figure
            title="The busiest links"
            says={`${count(links.used)} links are used.${isKnown ? '' : UNKNOWN}`}
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
