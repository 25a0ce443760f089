// Call sites by how much their time differs between two runs.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { CallSite, Report } from '../../answers/report';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import type { Entry } from '../../charts/legend';
import { fitting, roomFor } from '../../charts/names';
import { type Column, Rows, tableOf } from '../../charts/rows';
import { distinct } from '../../distinct';
import { Go } from '../../links/go';
import { placeName, siteAt } from '../../links/place';
import { NOTHING } from '../../state/address';
import type { Present } from '../../state/present';
import { brief, count, seconds } from '../../units';

interface Props {
    runs: [Present, Present];
    names: [string, string];
    before: Report;
    after: Report;
}

/** A call site in both runs; what is not in a run is null. Seconds are those of a rank, on average. */
interface Both {
    name: string;
    /** Where it is, in which run: the second, if it is in both. */
    site: CallSite;
    run: 0 | 1;
    before: number | null;
    after: number | null;
    calls: [number, number];
    more: number;
}

const MOST = 20;
/** Room for a figure beside a bar. */
const FIGURES = 76;
const LEGEND: Entry[] = [
    { label: 'takes longer', variable: '--waiting' },
    { label: 'takes less', variable: '--sending' },
];

export function Differences({ runs, names, before, after }: Props) {
    const both = useMemo(() => pairs(before, after), [before, after]);
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = both.slice(0, MOST);
            const names = shown.map(({ name }) => name);
            const left = roomFor(names, width);
            const label = { y: 'name', x: 'more', text: (one: Both) => signed(one.more), fill: colour('--text') };
            return {
                height: 46 + 22 * shown.length,
                marginLeft: left,
                x: {
                    label: 'seconds of a rank, on average: more →',
                    labelAnchor: 'right',
                    tickFormat: (value: number) => brief(signed(value)),
                    grid: true,
                    ticks: 6,
                    // Room for the figures beside the bars.
                    insetLeft: shown.some(({ more }) => more < 0) ? FIGURES : 0,
                    insetRight: FIGURES,
                },
                y: { label: null, domain: names, tickFormat: (name: string) => fitting(name, left) },
                marks: [
                    Plot.barX(shown, {
                        y: 'name',
                        x: 'more',
                        fill: (one: Both) => colour(one.more > 0 ? '--waiting' : '--sending'),
                        title: (one: Both) => `${one.name}: ${told(one.before)} to ${told(one.after)}`,
                    }),
                    Plot.text(shown.filter(({ more }) => more >= 0), { ...label, textAnchor: 'start', dx: 5 }),
                    Plot.text(shown.filter(({ more }) => more < 0), { ...label, textAnchor: 'end', dx: -5 }),
                    Plot.ruleX([0]),
                ],
            };
        },
        [both],
    );
    // A run may be compared with itself.
    const columns = useMemo(() => columnsOf(distinct(names), runs), [names[0], names[1]]);
    if (both.length === 0) return <p class="says">Neither run calls MPI anywhere.</p>;
    return (
        <Figure
            title="Where the time differs"
            says={`Time in MPI at each call site, for each rank on average: ${names[1]} less ${names[0]}.`}
            legend={LEGEND}
            table={() => tableOf(columns, both)}
        >
            <Chart label="Call sites by how much more or less time they take, as bars" draw={draw} />
            <details>
                <summary>All call sites</summary>
                <Rows label="Call sites in both runs" columns={columns} rows={both} name={({ name }) => name} most={50} />
            </details>
        </Figure>
    );
}

const told = (value: number | null): string => (value === null ? 'not there' : seconds(value));

const signed = (value: number): string => `${value > 0 ? '+' : value < 0 ? '−' : ''}${seconds(Math.abs(value))}`;

function columnsOf([one = '', other = '']: string[], runs: [Present, Present]): Column<Both>[] {
    return [
        { name: 'call site', value: ({ name }) => name, show: (both) => <There both={both} {...runs[both.run]} /> },
        { name: `calls, ${one}`, value: ({ calls }) => calls[0], show: ({ calls }) => count(calls[0]) },
        { name: `calls, ${other}`, value: ({ calls }) => calls[1], show: ({ calls }) => count(calls[1]) },
        { name: `${one} (s)`, value: ({ before }) => before, show: ({ before }) => told(before) },
        { name: `${other} (s)`, value: ({ after }) => after, show: ({ after }) => told(after) },
        { name: 'difference (s)', value: ({ more }) => more, show: ({ more }) => signed(more) },
    ];
}

/** A call site, which leads to its source in the run that it is in. */
function There({ both: { name, site }, number, recorded }: Present & { both: Both }) {
    const found = siteAt(recorded, site);
    if (found === undefined) return <>{name}</>;
    return (
        <Go view="sites" change={{ ...NOTHING, recording: number, site: found, operation: site.operation }} title="Show its source">
            {name}
        </Go>
    );
}

/** All call sites of both runs, those that differ most first. Folders do not matter: a program may have been built elsewhere. */
function pairs(before: Report, after: Report): Both[] {
    const found = new Map<string, Both>();
    const add = ({ call_sites: sites, ranks }: Report, which: 0 | 1) => {
        for (const site of sites) {
            const name = `${site.operation} at ${where(site)}`;
            const both = found.get(name) ?? { name, site, run: which, before: null, after: null, calls: [0, 0], more: 0 };
            [both.site, both.run] = [site, which];
            const each = site.seconds / Math.max(1, ranks);
            if (which === 0) both.before = (both.before ?? 0) + each;
            else both.after = (both.after ?? 0) + each;
            both.calls[which] += site.calls;
            both.more = (both.after ?? 0) - (both.before ?? 0);
            found.set(name, both);
        }
    };
    add(before, 0);
    add(after, 1);
    return [...found.values()].sort((one, other) => Math.abs(other.more) - Math.abs(one.more));
}

function where(site: CallSite): string {
    return site.file !== null && site.line !== null ? `${site.file.split('/').at(-1)}:${site.line}` : placeName(site);
}
