// Where the time of each rank went, and how much ranks differ.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { RankTime } from '../../answers/report';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { rankAxis } from '../../charts/names';
import { type Column, Rows } from '../../charts/rows';
import { Ranks } from '../../links/ranks';
import { SelectRanks } from '../../links/ranks-field';
import { parse } from '../../ranks';
import { select, selection } from '../../state/address';
import { brief, seconds } from '../../units';
import { ALL } from '../rank-kinds';
import type { Part } from './part';

/** Bars are not drawn thinner than this many; beyond, neighbours are put together. */
const MOST_BARS = 512;

interface Bar {
    first: number;
    last: number;
    kind: string;
    variable: string;
    seconds: number;
}

export function RankTimes({ report }: Part) {
    // Of a rank without calls nothing is known: it may have been in MPI all the time.
    const ranks = useMemo(() => report.per_rank.filter(({ calls }) => calls > 0), [report]);
    const wanted = selection.value.ranks;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const bars = barsOf(ranks);
            const chosen = wanted === undefined ? undefined : parse(wanted, report.ranks);
            const isFaded = ({ first, last }: Bar) => chosen !== undefined && !chosen.some((rank) => rank >= first && rank <= last);
            return {
                height: 190,
                marginLeft: 60,
                x: rankAxis(report.ranks),
                y: { label: null, tickFormat: (value: number) => brief(seconds(value)), ticks: 5, grid: true },
                marks: [
                    Plot.rectY(bars, {
                        x1: (bar: Bar) => bar.first - 0.5,
                        x2: (bar: Bar) => bar.last + 0.5,
                        y: 'seconds',
                        fill: (bar: Bar) => colour(bar.variable),
                        fillOpacity: (bar: Bar) => (isFaded(bar) ? 0.3 : 1),
                        insetLeft: ranks.length <= 128 ? 1 : 0,
                        title: (bar: Bar) => `${whose(bar)}: ${bar.kind} ${seconds(bar.seconds)}`,
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
            says={ranks.length < report.ranks ? 'Ranks of which no call is known are left out.' : undefined}
            legend={ALL}
            controls={<SelectRanks most={report.ranks} />}
            table={() => ({
                columns: ['rank', 'host', ...ALL.map(({ label }) => `${label} (s)`), 'calls'],
                rows: ranks.map((rank) => [rank.rank, rank.host, ...ALL.map(({ of }) => of(rank)), rank.calls]),
            })}
        >
            <div class="beside">
                <Chart label="Time of each rank by kind, in stacked bars" draw={draw} choose={choose} />
                <Rows label="How much ranks differ" columns={COLUMNS} rows={spreads(ranks)} name={({ kind }) => kind} />
            </div>
        </Figure>
    );
}

const whose = ({ first, last }: Bar): string => (first === last ? `rank ${first}` : `ranks ${first}-${last}, mean`);

/** The kinds of each rank, or of neighbours together. */
function barsOf(ranks: RankTime[]): Bar[] {
    const together = Math.ceil(ranks.length / MOST_BARS);
    const bars: Bar[] = [];
    for (let at = 0; at < ranks.length; at += together) {
        const some = ranks.slice(at, at + together);
        for (const { label, variable, of } of ALL) {
            const sum = some.reduce((sum, rank) => sum + of(rank), 0);
            const [first, last] = [some[0]?.rank ?? at, some.at(-1)?.rank ?? at];
            bars.push({ first, last, kind: label, variable, seconds: sum / some.length });
        }
    }
    return bars;
}

interface Spread {
    kind: string;
    least: number;
    median: number;
    most: number;
    rank: number;
}

const COLUMNS: Column<Spread>[] = [
    { name: 'time', value: ({ kind }) => kind },
    { name: 'least', unit: 's', value: ({ least }) => least, show: ({ least }) => seconds(least) },
    { name: 'median', unit: 's', value: ({ median }) => median, show: ({ median }) => seconds(median) },
    { name: 'most', unit: 's', value: ({ most }) => most, show: ({ most }) => seconds(most) },
    { name: 'of rank', says: 'The rank with the most', value: ({ rank }) => rank, show: ({ rank }) => <Ranks ranks={[rank]} /> },
];

function spreads(ranks: RankTime[]): Spread[] {
    return ALL.flatMap(({ label, of }) => {
        const order = ranks.map((rank) => ({ rank: rank.rank, seconds: of(rank) })).sort((one, other) => one.seconds - other.seconds);
        const [first, last] = [order[0], order.at(-1)];
        const [low, high] = [order[(order.length - 1) >> 1], order[order.length >> 1]];
        if (!first || !last || !low || !high) return [];
        return [{ kind: label, least: first.seconds, median: (low.seconds + high.seconds) / 2, most: last.seconds, rank: last.rank }];
    });
}
