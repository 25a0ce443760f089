// Call sites, sorted by how much their time differs between two runs.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { CallSite, Report } from '../../answers/report';
import { labelWidth, truncateLabel } from '../../charts/axis-labels';
import { Chart } from '../../charts/chart';
import { DataTable, type TableColumn, toCsvTable } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import type { LegendEntry } from '../../charts/legend';
import { locationName, siteIndexAt } from '../../links/source-location';
import { ViewLink } from '../../links/view-link';
import { EMPTY_SELECTION } from '../../state/address';
import type { CurrentRecording } from '../../state/current-recording';
import { uniqueNames } from '../../unique-names';
import { count, seconds, signedSeconds, trimZeros } from '../../units';

interface Props {
    runs: [CurrentRecording, CurrentRecording];
    names: [string, string];
    before: Report;
    after: Report;
}

/** A call site in both runs; null if it is missing in one. Seconds are means per rank. */
interface SiteDifference {
    name: string;
    /** The location, and the run it is from: the second run if it is in both. */
    site: CallSite;
    run: 0 | 1;
    before: number | null;
    after: number | null;
    calls: [number, number];
    difference: number;
}

const MAX_BARS = 20;
/** Width of a label beside a bar. */
const LABEL_WIDTH = 76;
const LEGEND: LegendEntry[] = [
    { label: 'slower', variable: '--waiting' },
    { label: 'faster', variable: '--sending' },
];

export function SiteDifferences({ runs, names, before, after }: Props) {
    const both = useMemo(() => siteDifferences(before, after), [before, after]);
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = both.slice(0, MAX_BARS);
            const names = shown.map(({ name }) => name);
            const left = labelWidth(names, width);
            const label = { y: 'name', x: 'difference', text: (one: SiteDifference) => signedSeconds(one.difference), fill: colour('--text') };
            return {
                height: 46 + 22 * shown.length,
                marginLeft: left,
                x: {
                    label: 'difference in mean seconds per rank →',
                    labelAnchor: 'right',
                    tickFormat: (value: number) => trimZeros(signedSeconds(value)),
                    grid: true,
                    ticks: 6,
                    // Space for the labels beside the bars.
                    insetLeft: shown.some(({ difference }) => difference < 0) ? LABEL_WIDTH : 0,
                    insetRight: LABEL_WIDTH,
                },
                y: { label: null, domain: names, tickFormat: (name: string) => truncateLabel(name, left) },
                marks: [
                    Plot.barX(shown, {
                        y: 'name',
                        x: 'difference',
                        fill: (one: SiteDifference) => colour(one.difference > 0 ? '--waiting' : '--sending'),
                        title: (one: SiteDifference) => `${one.name}: ${formatSeconds(one.before)} to ${formatSeconds(one.after)}`,
                    }),
                    Plot.text(
                        shown.filter(({ difference }) => difference >= 0),
                        { ...label, textAnchor: 'start', dx: 5 },
                    ),
                    Plot.text(
                        shown.filter(({ difference }) => difference < 0),
                        { ...label, textAnchor: 'end', dx: -5 },
                    ),
                    Plot.ruleX([0]),
                ],
            };
        },
        [both],
    );
    // A run may be compared with itself.
    const columns = useMemo(() => tableColumns(uniqueNames(names), runs), [names[0], names[1]]);
    if (both.length === 0) return <p class="description">Neither run calls MPI.</p>;
    return (
        <Figure
            title="Differences by call site"
            description={`MPI time at each call site, mean per rank: ${names[1]} minus ${names[0]}.`}
            legend={LEGEND}
            table={() => toCsvTable(columns, both)}
        >
            <Chart label="Call sites by how much more or less time they take, as bars" draw={draw} />
            <details>
                <summary>All call sites</summary>
                <DataTable label="Call sites in both runs" columns={columns} rows={both} rowKey={({ name }) => name} initialRows={50} />
            </details>
        </Figure>
    );
}

const formatSeconds = (value: number | null): string => (value === null ? 'absent' : seconds(value));

function tableColumns([one = '', other = '']: string[], runs: [CurrentRecording, CurrentRecording]): TableColumn<SiteDifference>[] {
    return [
        { name: 'call site', value: ({ name }) => name, render: (both) => <SiteLink both={both} {...runs[both.run]} /> },
        { name: `calls, ${one}`, value: ({ calls }) => calls[0], render: ({ calls }) => count(calls[0]) },
        { name: `calls, ${other}`, value: ({ calls }) => calls[1], render: ({ calls }) => count(calls[1]) },
        { name: `${one} (s)`, value: ({ before }) => before, render: ({ before }) => formatSeconds(before) },
        { name: `${other} (s)`, value: ({ after }) => after, render: ({ after }) => formatSeconds(after) },
        { name: 'difference (s)', value: ({ difference }) => difference, render: ({ difference }) => signedSeconds(difference) },
    ];
}

/** A call site, as a link to its source in the run it is from. */
function SiteLink({ both: { name, site }, index, recording }: CurrentRecording & { both: SiteDifference }) {
    const found = siteIndexAt(recording, site);
    if (found === undefined) return <>{name}</>;
    return (
        <ViewLink view="sites" change={{ ...EMPTY_SELECTION, recording: index, site: found, operation: site.operation }} title="Show its source">
            {name}
        </ViewLink>
    );
}

/** Call sites of both runs, largest difference first. Directories are ignored: the program may have been built elsewhere. */
function siteDifferences(before: Report, after: Report): SiteDifference[] {
    const found = new Map<string, SiteDifference>();
    const add = ({ call_sites: sites, ranks }: Report, which: 0 | 1) => {
        for (const site of sites) {
            const name = `${site.operation} at ${shortLocation(site)}`;
            const both = found.get(name) ?? { name, site, run: which, before: null, after: null, calls: [0, 0], difference: 0 };
            [both.site, both.run] = [site, which];
            const each = site.seconds / Math.max(1, ranks);
            if (which === 0) both.before = (both.before ?? 0) + each;
            else both.after = (both.after ?? 0) + each;
            both.calls[which] += site.calls;
            both.difference = (both.after ?? 0) - (both.before ?? 0);
            found.set(name, both);
        }
    };
    add(before, 0);
    add(after, 1);
    return [...found.values()].sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference));
}

function shortLocation(site: CallSite): string {
    return site.file !== null && site.line !== null ? `${site.file.split('/').at(-1)}:${site.line}` : locationName(site);
}
