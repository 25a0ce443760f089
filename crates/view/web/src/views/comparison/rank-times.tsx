// Time in MPI and computation of the ranks of two runs.

import * as Plot from '@observablehq/plot';
import { useCallback } from 'preact/hooks';
import type { Report } from '../../answers/report';
import { rankAxis } from '../../charts/axis-labels';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { SelectRanks } from '../../links/ranks-field';
import { parseRanks } from '../../ranks';
import { select, selection } from '../../state/address';
import { uniqueNames } from '../../unique-names';
import { seconds, trimZeros } from '../../units';
import { WORK_TIME } from '../rank-time-kinds';

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
    const runs = uniqueNames(names);
    const max = Math.max(before.ranks, after.ranks);
    const wanted = selection.value.ranks;
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const selectedRanks = wanted === undefined ? undefined : new Set(parseRanks(wanted, max));
            const bars: Bar[] = [before, after].flatMap((report, index) =>
                report.per_rank.flatMap((rank) =>
                    WORK_TIME.map(({ label, variable, secondsOf }) => ({
                        run: runs[index] ?? '',
                        rank: rank.rank,
                        kind: label,
                        variable,
                        seconds: secondsOf(rank),
                    })),
                ),
            );
            return {
                height: 260,
                marginLeft: 62,
                marginRight: 20,
                x: rankAxis(max),
                y: { label: null, tickFormat: (value: number) => trimZeros(seconds(value)), grid: true, ticks: 4 },
                fy: { label: null, domain: runs, axis: null },
                marks: [
                    Plot.rectY(bars, {
                        fy: 'run',
                        x1: (bar: Bar) => bar.rank - 0.5,
                        x2: (bar: Bar) => bar.rank + 0.5,
                        y: 'seconds',
                        fill: (bar: Bar) => colour(bar.variable),
                        fillOpacity: (bar: Bar) => ((selectedRanks?.has(bar.rank) ?? true) ? 1 : 0.3),
                        insetLeft: max <= 128 ? 1 : 0,
                        title: (bar: Bar) => `${bar.run}, rank ${bar.rank}: ${bar.kind} ${seconds(bar.seconds)}`,
                    }),
                    Plot.text(runs, {
                        fy: (run: string) => run,
                        text: (run: string) => run,
                        frameAnchor: 'top-right',
                        fontWeight: 600,
                        fill: colour('--text'),
                        stroke: colour('--background'),
                        strokeWidth: 5,
                        dy: 2,
                    }),
                    Plot.ruleY([0]),
                ],
            };
        },
        [before, after, names[0], names[1], wanted],
    );
    const choose = useCallback((x: number) => select({ ranks: String(Math.min(Math.max(Math.round(x), 0), max - 1)) }), [max]);
    return (
        <Figure
            title="Time of each rank in both runs"
            description="Without MPI_Init and MPI_Finalize."
            legend={WORK_TIME}
            controls={<SelectRanks most={max} />}
            table={() => ({
                columns: ['recording', 'rank', ...WORK_TIME.map(({ label }) => `${label} (s)`)],
                rows: [before, after].flatMap(({ per_rank: ranks }, index) =>
                    ranks.map((rank) => [runs[index], rank.rank, ...WORK_TIME.map(({ secondsOf }) => secondsOf(rank))]),
                ),
            })}
        >
            <Chart label="Time of each rank in both runs, as stacked bars" draw={draw} choose={choose} />
        </Figure>
    );
}
