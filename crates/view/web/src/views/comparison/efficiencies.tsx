// How well each run used its time: one column each, as `sintonia report A B` shows it.

import type { Comparison, Scaled } from '../../answers/comparison';
import { Figure } from '../../charts/figure';
import { goodness } from '../../charts/goodness';
import { distinct } from '../../distinct';
import { figures, percent, seconds } from '../../units';

interface Line {
    name: string;
    says: string;
    /** How deep it stands in the tree. */
    depth: number;
    value: (run: Scaled) => number | null | undefined;
    show: (value: number) => string;
    isShare?: boolean;
}

const share = (name: string, depth: number, says: string, value: Line['value']): Line => ({ name, depth, says, value, show: percent, isShare: true });

const LINES: Line[] = [
    { name: 'ranks', depth: 0, says: 'How many ranks there were', value: ({ ranks }) => ranks, show: String },
    { name: 'time', depth: 0, says: 'Between MPI_Init and MPI_Finalize', value: ({ work_s }) => work_s, show: seconds },
    { name: 'speed-up', depth: 0, says: 'How many times as fast as the first run', value: ({ speedup }) => speedup, show: (value) => figures(value) },
    share('global efficiency', 0, 'Parallel efficiency times computation scalability', ({ global }) => global),
    share('parallel efficiency', 1, 'The share of the time in which ranks compute', ({ efficiency }) => efficiency?.parallel),
    share('load balance', 2, 'How evenly computation is shared', ({ efficiency }) => efficiency?.load_balance),
    share('communication', 2, 'What communication leaves to the rank that computes longest', ({ efficiency }) => efficiency?.communication),
    share('serialisation', 3, 'What waiting for each other leaves, on an ideal network', ({ efficiency }) => efficiency?.serialisation),
    share('transfer', 3, 'What the transfer of bytes leaves', ({ efficiency }) => efficiency?.transfer),
    share('computation scalability', 1, 'Computation of all ranks in the first run over that in this one', (run) => run.computation_scalability),
];

export function Efficiencies({ comparison: { runs, growth } }: { comparison: Comparison }) {
    const work = growth === 'weak' ? 'as much work for each rank' : 'the same work shared by all ranks';
    const names = distinct(runs.map(({ recording }) => recording));
    return (
        <Figure
            title="Efficiencies"
            says={`Against the first run, with ${work}.`}
            svg={null}
            table={() => ({
                columns: ['figure', ...names],
                rows: LINES.map(({ name, value }) => [name, ...runs.map((run) => value(run))]),
            })}
        >
            <div class="comparison-frame">
                <table class="comparison-efficiencies">
                    <thead>
                        <tr>
                            <td />
                            {names.map((name) => (
                                <th key={name} scope="col">
                                    {name}
                                </th>
                            ))}
                        </tr>
                    </thead>
                    <tbody>
                        {LINES.map((line) => (
                            <tr key={line.name}>
                                <th scope="row" title={line.says} style={{ paddingLeft: `${0.8 + 1.2 * line.depth}rem` }}>
                                    {line.name}
                                </th>
                                {runs.map((run, at) => (
                                    <Cell key={at} line={line} value={line.value(run)} />
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </Figure>
    );
}

function Cell({ line, value }: { line: Line; value: number | null | undefined }) {
    if (value === null || value === undefined) return <td>–</td>;
    return (
        <td>
            {line.isShare && (
                <span class="bar" aria-hidden="true">
                    <span style={{ width: `${100 * Math.min(1, value)}%`, background: `var(${goodness(value)})` }} />
                </span>
            )}
            <span class="value">{line.show(value)}</span>
        </td>
    );
}
