// What the hosts are, and which of their processors the ranks may use.

import type { HostDescription, Report } from '../../answers/report';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { RanksLink } from '../../links/ranks-link';
import { bytes, nanoseconds } from '../../units';
import { type BindingRow, bindingRows } from './bindings';
import type { OverviewProps } from './overview-props';

const MAX_ROWS = 16;

export function Hosts({ report }: OverviewProps) {
    if (report.host_descriptions.length === 0) return null;
    return <TableFigure title="Hosts" columns={HOST_COLUMNS} rows={report.host_descriptions} rowKey={({ name }) => name} initialRows={MAX_ROWS} />;
}

export function Bindings({ report }: OverviewProps) {
    const rows = bindingRows(report);
    if (rows.length === 0) return null;
    return (
        <TableFigure
            title="Processors of the ranks"
            columns={bindingColumns(report, rows)}
            rows={rows}
            rowKey={({ ranks, threads }) => `${ranks[0]}/${threads}`}
            initialRows={MAX_ROWS}
        />
    );
}

const HOST_COLUMNS: TableColumn<HostDescription>[] = [
    { name: 'host', value: ({ name }) => name },
    { name: 'processors', description: 'Logical processors that are online', value: ({ processors }) => processors },
    { name: 'cores', value: ({ cores }) => cores },
    { name: 'sockets', value: ({ sockets }) => sockets },
    { name: 'NUMA nodes', value: ({ numa_nodes }) => numa_nodes },
    {
        name: 'SMT',
        description: 'Processors that share a core, for the first core',
        value: ({ cores, smt_siblings: [first] = [] }) => first ?? (cores === undefined ? undefined : 'no'),
    },
    { name: 'model', value: ({ cpu_model }) => cpu_model },
    { name: 'base', unit: 'MHz', value: ({ base_mhz }) => base_mhz, render: ({ base_mhz }) => megahertz(base_mhz) },
    {
        name: 'frequency',
        unit: 'MHz',
        description: 'Mean over all processors at the start of the run',
        value: ({ current_mhz }) => current_mhz,
        render: ({ current_mhz }) => megahertz(current_mhz),
    },
    {
        name: 'memory',
        unit: 'B',
        value: ({ memory_bytes }) => memory_bytes,
        render: ({ memory_bytes }) => (memory_bytes === undefined ? '–' : bytes(memory_bytes)),
    },
    { name: 'Linux', value: ({ kernel }) => kernel },
    { name: 'load at start', description: 'Load average over one minute', value: ({ load_at_start }) => load_at_start?.[0] },
    { name: 'load at end', description: 'Load average over one minute', value: ({ load_at_end }) => load_at_end?.[0] },
];

const megahertz = (frequency: number | undefined): string => (frequency === undefined ? '–' : `${frequency.toFixed(0)} MHz`);

/** Columns in which nothing is said are omitted. */
function bindingColumns(report: Report, rows: BindingRow[]): TableColumn<BindingRow>[] {
    const columns: [boolean, TableColumn<BindingRow>][] = [
        [true, { name: 'ranks', value: ({ ranks }) => ranks[0], render: ({ ranks }) => <RanksLink ranks={ranks} /> }],
        [report.hosts.length > 1, { name: 'host', value: ({ host }) => host }],
        [rows.some(({ threads }) => threads !== ''), { name: 'threads', value: ({ threads }) => threads }],
        [true, { name: 'processors', description: 'Processors on which they may run, at the first MPI call', value: ({ affinity }) => affinity }],
        [
            rows.some(({ affinityAtEnd }) => affinityAtEnd !== null),
            { name: 'at the end', description: 'Where it differs', value: ({ affinityAtEnd }) => affinityAtEnd },
        ],
        [
            rows.some(({ limits }) => limits?.cpu_quota !== undefined),
            {
                name: 'quota',
                unit: 'processors',
                description: 'Processor time that a control group allows',
                value: ({ limits }) => limits?.cpu_quota,
            },
        ],
        [
            rows.some(({ limits }) => limits?.throttled_ns !== undefined),
            {
                name: 'throttled',
                unit: 's',
                description: 'Time for which the quota stopped the control group',
                value: ({ limits }) => limits?.throttled_ns && limits.throttled_ns * 1e-9,
                render: ({ limits }) => (limits?.throttled_ns === undefined ? '–' : nanoseconds(limits.throttled_ns)),
            },
        ],
        [
            rows.some(({ limits }) => limits?.memory_bytes !== undefined),
            {
                name: 'memory limit',
                unit: 'B',
                value: ({ limits }) => limits?.memory_bytes,
                render: ({ limits }) => (limits?.memory_bytes === undefined ? '–' : bytes(limits.memory_bytes)),
            },
        ],
    ];
    return columns.filter(([isSaid]) => isSaid).map(([, column]) => column);
}
