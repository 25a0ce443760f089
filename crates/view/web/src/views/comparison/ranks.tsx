// What the ranks of two runs spent in MPI and outside it.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Report } from '../../answers/report';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { rankAxis } from '../../charts/names';
import { distinct } from '../../distinct';
import { SelectRanks } from '../../links/ranks-field';
import { parse } from '../../ranks';
import { select, selection } from '../../state/address';
import { brief, seconds } from '../../units';
import { WORK } from '../rank-kinds';

interface Props {
    names: [string, string];
    before: Report;
    after: Report;
}

interface Bar {
    run: string;
    rank: number;
    kind: string;
    variable: string;
    seconds: number;
}

export function RankTimes({ names, before, after }: Props) {
    // A run may be compared with itself.
    const runs = distinct(names);
    const most = Math.max(before.ranks, after.ranks);
    const wanted = selection.value.ranks;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const chosen = wanted === undefined ? undefined : new Set(parse(wanted, most));
            const bars: Bar[] = [before, after].flatMap((report, at) =>
                report.per_rank.flatMap((rank) =>
                    WORK.map(({ label, variable, of }) => ({ run: runs[at] ?? '', rank: rank.rank, kind: label, variable, seconds: of(rank) })),
                ),
            );
            return {
                height: 260,
                marginLeft: 62,
                marginRight: 20,
                x: rankAxis(most),
                y: { label: null, tickFormat: (value: number) => brief(seconds(value)), grid: true, ticks: 4 },
                fy: { label: null, domain: runs, axis: null },
                marks: [
                    Plot.rectY(bars, {
                        fy: 'run',
                        x1: (bar: Bar) => bar.rank - 0.5,
                        x2: (bar: Bar) => bar.rank + 0.5,
                        y: 'seconds',
                        fill: (bar: Bar) => colour(bar.variable),
                        fillOpacity: (bar: Bar) => (chosen?.has(bar.rank) ?? true ? 1 : 0.3),
                        insetLeft: most <= 128 ? 1 : 0,
                        title: (bar: Bar) => `${bar.run}, rank ${bar.rank}: ${bar.kind} ${seconds(bar.seconds)}`,
                    }),
                    Plot.text(runs, {
                        fy: (run: string) => run,
                        text: (run: string) => run,
                        frameAnchor: 'top-right',
                        fontWeight: 600,
                        fill: colour('--text'),
                        stroke: colour('--ground'),
                        strokeWidth: 5,
                        dy: 2,
                    }),
                    Plot.ruleY([0]),
                ],
            };
        },
        [before, after, names[0], names[1], wanted],
    );
    const choose = useCallback((x: number) => select({ ranks: String(Math.min(Math.max(Math.round(x), 0), most - 1)) }), [most]);
    return (
        <Figure
            title="Time of each rank in both runs"
            says="Without MPI_Init and MPI_Finalize."
            legend={WORK}
            controls={<SelectRanks most={most} />}
            table={() => ({
                columns: ['recording', 'rank', ...WORK.map(({ label }) => `${label} (s)`)],
                rows: [before, after].flatMap(({ per_rank: ranks }, at) =>
                    ranks.map((rank) => [runs[at], rank.rank, ...WORK.map(({ of }) => of(rank))]),
                ),
            })}
        >
            <Chart label="Time of each rank in both runs, as stacked bars" draw={draw} choose={choose} />
        </Figure>
    );
}
