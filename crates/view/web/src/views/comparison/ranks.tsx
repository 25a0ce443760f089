// What the ranks of two runs spent in MPI and outside it.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { RankTime, Report } from '../../answers/report';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import type { Entry } from '../../charts/legend';
import { rankAxis } from '../../charts/names';
import { distinct } from '../../distinct';
import { seconds } from '../../units';

interface Props {
    names: [string, string];
    before: Report;
    after: Report;
}

const KINDS: (Entry & { of: (rank: RankTime) => number })[] = [
    { label: 'computation', variable: '--computes', of: ({ outside_s }) => outside_s },
    { label: 'in MPI, without Init and Finalize', variable: '--collective', of: (rank) => Math.max(0, rank.mpi_s - rank.init_s - rank.finalize_s) },
];

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
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const bars: Bar[] = [before, after].flatMap((report, at) =>
                report.per_rank.flatMap((rank) =>
                    KINDS.map(({ label, variable, of }) => ({ run: runs[at] ?? '', rank: rank.rank, kind: label, variable, seconds: of(rank) })),
                ),
            );
            const most = Math.max(before.ranks, after.ranks);
            return {
                height: 260,
                marginLeft: 62,
                marginRight: 20,
                x: rankAxis(most),
                y: { label: null, tickFormat: (value: number) => seconds(value), grid: true, ticks: 4 },
                fy: { label: null, domain: runs, axis: null },
                marks: [
                    Plot.rectY(bars, {
                        fy: 'run',
                        x1: (bar: Bar) => bar.rank - 0.5,
                        x2: (bar: Bar) => bar.rank + 0.5,
                        y: 'seconds',
                        fill: (bar: Bar) => colour(bar.variable),
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
        [before, after, names[0], names[1]],
    );
    return (
        <Figure
            title="Time of each rank in both runs"
            legend={KINDS}
            table={() => ({
                columns: ['recording', 'rank', ...KINDS.map(({ label }) => `${label} (s)`)],
                rows: [before, after].flatMap(({ per_rank: ranks }, at) =>
                    ranks.map((rank) => [runs[at], rank.rank, ...KINDS.map(({ of }) => of(rank))]),
                ),
            })}
        >
            <Chart label="Time of each rank in both runs, as stacked bars" draw={draw} />
        </Figure>
    );
}
