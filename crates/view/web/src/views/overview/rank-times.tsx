// Time of each rank by kind, and its spread over the ranks.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { RankTime, Report } from '../../answers/report';
import { rankAxis } from '../../charts/axis-labels';
import { Chart } from '../../charts/chart';
import { DataTable, type TableColumn } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { SelectRanks } from '../../links/ranks-field';
import { RanksLink } from '../../links/ranks-link';
import { parseRanks } from '../../ranks';
import { select, selection } from '../../state/address';
import { seconds, trimZeros } from '../../units';
import { ALL_TIME } from '../rank-time-kinds';

/** Maximum number of bars; beyond it, adjacent ranks are averaged. */
const MAX_BARS = 512;

interface Bar {
    first: number;
    last: number;
    kind: string;
    variable: string;
    seconds: number;
}

type RankReport = Pick<Report, 'ranks' | 'per_rank' | 'threads'>;

export function RankTimes({ report }: { report: RankReport }) {
    // Ranks without calls are unknown: they may have been in MPI all the time.
    const ranks = useMemo(() => report.per_rank.filter(({ calls }) => calls > 0), [report]);
    const wanted = selection.value.ranks;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const bars = toBars(ranks);
            const selectedRanks = wanted === undefined ? undefined : parseRanks(wanted, report.ranks);
            const isFaded = ({ first, last }: Bar) => selectedRanks !== undefined && !selectedRanks.some((rank) => rank >= first && rank <= last);
            return {
                height: 190,
                marginLeft: 60,
                x: rankAxis(report.ranks),
                y: { label: null, tickFormat: (value: number) => trimZeros(seconds(value)), ticks: 5, grid: true },
                marks: [
                    Plot.rectY(bars, {
                        x1: (bar: Bar) => bar.first - 0.5,
                        x2: (bar: Bar) => bar.last + 0.5,
                        y: 'seconds',
                        fill: (bar: Bar) => colour(bar.variable),
                        fillOpacity: (bar: Bar) => (isFaded(bar) ? 0.3 : 1),
                        insetLeft: ranks.length <= 128 ? 1 : 0,
                        title: (bar: Bar) => `${barRanks(bar)}: ${bar.kind} ${seconds(bar.seconds)}`,
                    }),
                    Plot.ruleY([0]),
                ],
            };
        },
        [ranks, wanted],
    );
    const choose = useCallback((x: number) => select({ ranks: String(Math.min(Math.max(Math.round(x), 0), report.ranks - 1)) }), [report]);
    return (
        <Figure
            title="Time of each rank"
            description={descriptionOf(report, ranks.length) || undefined}
            legend={ALL_TIME}
            controls={<SelectRanks most={report.ranks} />}
            table={() => ({
                columns: ['rank', 'host', ...ALL_TIME.map(({ label }) => `${label} (s)`), 'calls'],
                rows: ranks.map((rank) => [rank.rank, rank.host, ...ALL_TIME.map(({ secondsOf }) => secondsOf(rank)), rank.calls]),
            })}
        >
            <div class="beside">
                <Chart label="Time of each rank by kind, in stacked bars" draw={draw} choose={choose} />
                <DataTable label="Spread over ranks" columns={COLUMNS} rows={kindSpreads(ranks)} rowKey={({ kind }) => kind} />
            </div>
        </Figure>
    );
}

function descriptionOf(report: RankReport, shown: number): string {
    const omitted = shown < report.per_rank.length ? 'Ranks without recorded calls are omitted.' : '';
    const threads = report.threads ? 'Summed over the threads of each rank that call MPI, while they are active.' : '';
    return [omitted, threads].filter(Boolean).join(' ');
}

const barRanks = ({ first, last }: Bar): string => (first === last ? `rank ${first}` : `ranks ${first}-${last}, mean`);

/** One bar per rank, or per group of adjacent ranks. */
function toBars(ranks: RankTime[]): Bar[] {
    const groupSize = Math.ceil(ranks.length / MAX_BARS);
    const bars: Bar[] = [];
    for (let index = 0; index < ranks.length; index += groupSize) {
        const some = ranks.slice(index, index + groupSize);
        for (const { label, variable, secondsOf } of ALL_TIME) {
            const sum = some.reduce((sum, rank) => sum + secondsOf(rank), 0);
            const [first, last] = [some[0]?.rank ?? index, some.at(-1)?.rank ?? index];
            bars.push({ first, last, kind: label, variable, seconds: sum / some.length });
        }
    }
    return bars;
}

interface Spread {
    kind: string;
    min: number;
    median: number;
    max: number;
    rank: number;
}

const COLUMNS: TableColumn<Spread>[] = [
    { name: 'time', value: ({ kind }) => kind },
    { name: 'minimum', unit: 's', value: ({ min }) => min, render: ({ min }) => seconds(min) },
    { name: 'median', unit: 's', value: ({ median }) => median, render: ({ median }) => seconds(median) },
    { name: 'maximum', unit: 's', value: ({ max }) => max, render: ({ max }) => seconds(max) },
    { name: 'on rank', description: 'The rank with the maximum', value: ({ rank }) => rank, render: ({ rank }) => <RanksLink ranks={[rank]} /> },
];

function kindSpreads(ranks: RankTime[]): Spread[] {
    return ALL_TIME.flatMap(({ label, secondsOf }) => {
        const order = ranks.map((rank) => ({ rank: rank.rank, seconds: secondsOf(rank) })).sort((one, other) => one.seconds - other.seconds);
        const [first, last] = [order[0], order.at(-1)];
        const [low, high] = [order[(order.length - 1) >> 1], order[order.length >> 1]];
        if (!first || !last || !low || !high) return [];
        return [{ kind: label, min: first.seconds, median: (low.seconds + high.seconds) / 2, max: last.seconds, rank: last.rank }];
    });
}
