// Efficiencies of each run, one column per run, as in `sintonia report A B`, and the parts of the program that changed.

import type { ComparedRun, Comparison } from '../../answers/comparison';
import { Figure } from '../../charts/figure';
import { ratingColour } from '../../charts/rating';
import { uniqueNames } from '../../unique-names';
import { percent, seconds, threeDigits } from '../../units';
import { ChangedParts } from './changed-parts';

interface EfficiencyRow {
    name: string;
    description: string;
    /** Depth in the tree. */
    depth: number;
    value: (run: ComparedRun) => number | null | undefined;
    show: (value: number) => string;
    isShare?: boolean;
}

const shareRow = (name: string, depth: number, description: string, value: EfficiencyRow['value']): EfficiencyRow => ({
    name,
    depth,
    description,
    value,
    show: percent,
    isShare: true,
});

const ROWS: EfficiencyRow[] = [
    { name: 'ranks', depth: 0, description: 'Number of ranks', value: ({ ranks }) => ranks, show: String },
    { name: 'time', depth: 0, description: 'Between MPI_Init and MPI_Finalize', value: ({ work_s }) => work_s, show: seconds },
    {
        name: 'speed-up',
        depth: 0,
        description: 'Relative to the first run',
        value: ({ speedup }) => speedup,
        show: (value) => threeDigits(value),
    },
    shareRow('global efficiency', 0, 'Parallel efficiency × computation scalability', ({ global }) => global),
    shareRow('parallel efficiency', 1, 'Share of the time that ranks compute', ({ efficiency }) => efficiency?.parallel),
    shareRow('load balance', 2, 'How evenly computation is distributed', ({ efficiency }) => efficiency?.load_balance),
    shareRow('communication', 2, 'Maximum computation time divided by the whole time', ({ efficiency }) => efficiency?.communication),
    shareRow('serialisation', 3, 'Loss by dependencies between ranks, on an ideal network', ({ efficiency }) => efficiency?.serialisation),
    shareRow('transfer', 3, 'Loss by data transfer', ({ efficiency }) => efficiency?.transfer),
    shareRow('computation scalability', 1, 'Total computation of the first run divided by that of this run', (run) => run.computation_scalability),
];

/** Parts of the computation scalability, of runs that counted instructions and cycles. */
const COMPUTATION_ROWS: EfficiencyRow[] = [
    shareRow('instructions', 2, 'Instructions of the first run divided by those of this run', ({ computation }) => computation?.instructions),
    shareRow('IPC', 2, 'Instructions per cycle divided by those of the first run', ({ computation }) => computation?.ipc),
    shareRow('frequency', 2, 'Cycles per second of computation divided by those of the first run', ({ computation }) => computation?.frequency),
];

export function Efficiencies({ comparison: { runs, growth, parts } }: { comparison: Comparison }) {
    const work = growth === 'weak' ? 'weak scaling: constant work per rank' : 'strong scaling: constant total work';
    const rows = [...ROWS, ...(runs.some(({ computation }) => computation) ? COMPUTATION_ROWS : [])];
    const names = uniqueNames(runs.map(({ recording }) => recording));
    const figure = (
        <Figure
            title="Efficiencies"
            description={`Relative to the first run (${work}).`}
            svg={null}
            table={() => ({
                columns: ['figure', ...names],
                rows: rows.map(({ name, value }) => [name, ...runs.map((run) => value(run))]),
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
                        {rows.map((line) => (
                            <tr key={line.name}>
                                <th scope="row" title={line.description} style={{ paddingLeft: `${0.8 + 1.2 * line.depth}rem` }}>
                                    {line.name}
                                </th>
                                {runs.map((run, index) => (
                                    <EfficiencyCell key={index} line={line} value={line.value(run)} />
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </Figure>
    );
    return (
        <>
            {runs.map(({ no_core }, index) => no_core && <CoreStatement key={index} name={names[index] ?? ''} statement={no_core} />)}
            {runs.flatMap(({ differences = [] }, index) =>
                differences.map((why) => (
                    <p key={`${index} ${why}`} class="muted">
                        {names[index]}: {why}
                    </p>
                )),
            )}
            {figure}
            {parts && <ChangedParts parts={parts} names={names} />}
        </>
    );
}

/** A run whose ranks had no core for a part of their time. */
function CoreStatement({ name, statement }: { name: string; statement: string }) {
    return (
        <p class="no-cores" role="alert">
            {name}: <strong>{statement}</strong> Its figures contain that.
        </p>
    );
}

function EfficiencyCell({ line, value }: { line: EfficiencyRow; value: number | null | undefined }) {
    if (value === null || value === undefined) return <td>–</td>;
    return (
        <td>
            {line.isShare && (
                <span class="bar" aria-hidden="true">
                    <span style={{ width: `${100 * Math.min(1, value)}%`, background: `var(${ratingColour(value)})` }} />
                </span>
            )}
            <span class="value">{line.show(value)}</span>
        </td>
    );
}
