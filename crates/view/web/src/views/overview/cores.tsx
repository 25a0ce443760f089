// Whether the ranks had cores to run on: the first line of the page if they had not, and how their time splits.

import type { Cores, CoreTimes } from '../../answers/report';
import { DataTable, type TableColumn } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { RanksLink } from '../../links/ranks-link';
import { percent, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

export function CoreStatement({ report }: OverviewProps) {
    const { statement } = report.cores;
    if (statement === null) return null;
    return (
        <p class="no-cores" role="alert">
            <strong>{statement}</strong> Waits, imbalances and communication below contain that; advice it explains is held back.
        </p>
    );
}

const KINDS: { key: keyof CoreTimes; name: string; description: string }[] = [
    { key: 'computing_s', name: 'computing', description: 'Computation on a core' },
    { key: 'preempted_s', name: 'preempted', description: 'Ready to compute, without a core' },
    { key: 'message_s', name: 'in MPI', description: 'In MPI, waiting for a message or transferring it' },
    { key: 'mpi_no_core_s', name: 'in MPI, no core', description: 'In MPI, ready to go on, without a core' },
];

const INITIAL_ROWS = 16;

type RankCores = Cores['per_rank'][number];

/** One row per rank; the split only where it is known when threads had no core. */
export function CoreTable({ report }: OverviewProps) {
    const { statement, per_rank, split } = report.cores;
    if (statement === null) return null;
    const kinds: TableColumn<RankCores>[] =
        split === null ? [] : KINDS.map(({ key, name, description }) => shareColumn(name, description, (rank) => rank[key] ?? 0));
    const columns: TableColumn<RankCores>[] = [
        { name: 'rank', value: ({ rank }) => rank, render: ({ rank }) => <RanksLink ranks={[rank]} /> },
        {
            name: 'time',
            unit: 's',
            description: 'Sum over its threads that call MPI',
            value: ({ elapsed_s }) => elapsed_s,
            render: ({ elapsed_s }) => seconds(elapsed_s),
        },
        shareColumn('without a core', 'Ready to run, without a core', ({ no_core_s }) => no_core_s),
        ...kinds,
    ];
    return (
        <Figure
            title="Time with and without a core"
            svg={null}
            description={split === null ? 'Where in the program ranks had no core is not known.' : totals(split)}
            table={() => ({ columns: columns.map(({ name }) => name), rows: per_rank.map((rank) => columns.map(({ value }) => value(rank))) })}
        >
            <DataTable
                label="Time with and without a core"
                columns={columns}
                rows={per_rank}
                initialRows={INITIAL_ROWS}
                rowKey={({ rank }) => String(rank)}
            />
        </Figure>
    );
}

/** A share of the rank's time. */
const shareColumn = (name: string, description: string, secondsOf: (rank: RankCores) => number): TableColumn<RankCores> => {
    const share = (rank: RankCores) => secondsOf(rank) / Math.max(rank.elapsed_s, Number.MIN_VALUE);
    return { name, description, value: share, render: (rank) => percent(share(rank)) };
};

function totals(split: CoreTimes): string {
    const all = Math.max(
        KINDS.reduce((sum, { key }) => sum + split[key], 0),
        Number.MIN_VALUE,
    );
    return `All ranks: ${KINDS.map(({ key, name }) => `${name} ${percent(split[key] / all)}`).join(', ')}.`;
}
