// OpenMP: POP's efficiencies for MPI and OpenMP together, the parallel regions, and the threads of each rank.

import type { AdditiveEfficiency, HybridEfficiency, RankThreads, RegionTotals, ThreadWait } from '../../answers/openmp';
import type { TableColumn } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { TableFigure } from '../../charts/table-figure';
import { LocationLink } from '../../links/location-link';
import { RanksLink } from '../../links/ranks-link';
import { locationKey, locationName } from '../../links/source-location';
import { count, percent, seconds } from '../../units';
import { type EfficiencyBar, EfficiencyBars, efficiencySvg } from './efficiency-bars';
import type { OverviewProps } from './overview-props';

const INITIAL_ROWS = 10;

interface HybridNode extends Omit<EfficiencyBar, 'share'> {
    metric: keyof HybridEfficiency;
}

const NODES: HybridNode[] = [
    {
        metric: 'parallel',
        name: 'Hybrid efficiency',
        depth: 0,
        summary: 'of the threads’ time is computation',
        explanation: 'Mean computation time of all threads of all ranks, divided by the time of the run. It is MPI × OpenMP.',
    },
    {
        metric: 'mpi',
        name: 'MPI',
        depth: 1,
        summary: 'of the ranks’ time is outside MPI',
        explanation: 'Mean time of the ranks outside MPI, divided by the time of the run. It is load balance × communication.',
    },
    {
        metric: 'mpi_load_balance',
        name: 'Load balance',
        depth: 2,
        summary: 'between ranks',
        explanation: 'Mean time outside MPI divided by the maximum.',
    },
    {
        metric: 'mpi_communication',
        name: 'Communication',
        depth: 2,
        summary: 'between ranks',
        explanation: 'Maximum time outside MPI divided by the time of the run.',
    },
    {
        metric: 'openmp',
        name: 'OpenMP',
        depth: 1,
        summary: 'of that is computation of the threads',
        explanation:
            'Hybrid efficiency divided by that of MPI. A low value means that threads wait for each other, or are idle while one computes. ' +
            'It is load balance × communication.',
    },
    {
        metric: 'openmp_load_balance',
        name: 'Load balance',
        depth: 2,
        summary: 'between threads',
        explanation:
            'Mean over maximum computation of all threads, divided by the load balance of MPI. ' +
            'Serial parts lower it, too. It is more than 100 % if threads even out a difference between ranks.',
    },
    {
        metric: 'openmp_communication',
        name: 'Communication',
        depth: 2,
        summary: 'loss of the busiest thread',
        explanation: 'Maximum computation of a thread divided by the maximum time outside MPI: barriers, locks, start of threads and tasks.',
    },
];

export function HybridEfficiencies({ report }: OverviewProps) {
    const { openmp } = report;
    if (!openmp?.efficiency) return null;
    const { efficiency } = openmp;
    const bars = NODES.map((node) => ({ ...node, share: efficiency[node.metric] }));
    return (
        <Figure
            title="MPI and OpenMP"
            description={`${threadsPerRank(openmp.per_rank)}. ${openmp.additive ? lossText(openmp.additive) : ''}`}
            table={() => ({ columns: ['efficiency', 'of', 'share'], rows: bars.map(({ name, summary, share }) => [name, summary, share]) })}
            svg={() => efficiencySvg(bars)}
        >
            <EfficiencyBars bars={bars} />
        </Figure>
    );
}

function threadsPerRank(ranks: RankThreads[]): string {
    const sizes = ranks.map(({ threads }) => threads);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    return `${least === most ? most : `${least} to ${most}`} ${most === 1 ? 'thread' : 'threads'} per rank`;
}

/** What is lost of the time of all threads, by cause. */
function lossText({ process, region_load_balance, region_overhead, serial }: AdditiveEfficiency): string {
    const losses: [share: number, where: string][] = [
        [process, 'in MPI outside regions'],
        [region_load_balance, 'by unequal threads in regions'],
        [region_overhead, 'otherwise in regions'],
        [serial, 'in serial parts'],
    ];
    return `Of the threads’ time is lost: ${losses.map(([share, where]) => `${percent(1 - share)} ${where}`).join(', ')}.`;
}

export function OpenMpRegions({ report, recording }: OverviewProps) {
    const { openmp, work_s } = report;
    if (!openmp || openmp.regions.length === 0) return null;
    const { regions, per_rank } = openmp;
    const ranks = Math.max(1, per_rank.length);
    const max = Math.max(...regions.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const threadShare = (name: string, description: string, secondsOf: (region: RegionTotals) => number): TableColumn<RegionTotals> => {
        const share = (region: RegionTotals) => secondsOf(region) / Math.max(threadSeconds(region), Number.MIN_VALUE);
        return { name, description: `${description}, of the time of its threads`, value: share, render: (region) => percent(share(region)) };
    };
    const columns: TableColumn<RegionTotals>[] = [
        {
            name: 'region',
            value: (region) => locationName(region),
            render: (region) => (
                <span style={{ display: 'block', paddingLeft: `${region.level}rem` }}>
                    <LocationLink recording={recording} location={region} />
                    {region.level > 0 && <span class="muted"> nested</span>}
                </span>
            ),
        },
        { name: 'executions', value: ({ executions }) => executions, render: ({ executions }) => count(executions) },
        { name: 'threads', value: ({ threads }) => threads },
        {
            name: 'time',
            unit: 's',
            description: 'Mean of the ranks',
            value: (region) => region.seconds / ranks,
            render: (region) => seconds(region.seconds / ranks),
            bar: (region) => region.seconds / max,
            barColour: '--parallel',
        },
        {
            name: 'of run',
            value: (region) => region.seconds / ranks / work_s,
            render: (region) => percent(region.seconds / ranks / Math.max(work_s, Number.MIN_VALUE)),
        },
        {
            name: 'load balance',
            description: 'Mean over maximum computation of its threads',
            value: ({ load_balance }) => load_balance,
            render: ({ load_balance }) => percent(load_balance),
        },
        threadShare('barriers', 'Waiting at barriers and at its end', ({ barrier_s, end_s }) => barrier_s + end_s),
        threadShare('locks', 'Waiting for critical sections and locks', ({ lock_s }) => lock_s),
        threadShare('overhead', 'Until threads begin, other synchronisation, creation of tasks', ({ overhead_s }) => overhead_s),
    ];
    return (
        <TableFigure
            title="Parallel regions by time"
            columns={columns}
            rows={regions}
            rowKey={(region) => `${region.level} ${locationKey(region)}`}
            initialRows={INITIAL_ROWS}
        />
    );
}

const threadSeconds = ({ useful_s, barrier_s, end_s, lock_s, overhead_s, mpi_s }: RegionTotals): number =>
    useful_s + barrier_s + end_s + lock_s + overhead_s + mpi_s;

export function ThreadWaits({ report }: OverviewProps) {
    const { openmp } = report;
    if (!openmp) return null;
    const columns: TableColumn<ThreadWait>[] = [
        { name: 'wait state', value: ({ name }) => name },
        { name: 'time', unit: 's', description: 'Of all threads', value: (wait) => wait.seconds, render: (wait) => seconds(wait.seconds) },
        {
            name: 'of threads',
            description: 'Share of the time of all threads',
            value: ({ share }) => share,
            render: ({ share }) => percent(share),
            bar: ({ share }) => share,
            barColour: '--barrier',
        },
    ];
    return <TableFigure title="Why OpenMP threads did not compute" columns={columns} rows={openmp.waits} rowKey={({ kind }) => kind} />;
}

export function ThreadTimes({ report }: OverviewProps) {
    const { openmp } = report;
    if (!openmp) return null;
    const time = (name: string, description: string, secondsOf: (rank: RankThreads) => number): TableColumn<RankThreads> => ({
        name,
        unit: 's',
        description,
        value: secondsOf,
        render: (rank) => seconds(secondsOf(rank)),
    });
    const columns: TableColumn<RankThreads>[] = [
        { name: 'rank', value: ({ rank }) => rank, render: ({ rank }) => <RanksLink ranks={[rank]} /> },
        { name: 'threads', value: ({ threads }) => threads },
        time('regions', 'Main thread in parallel regions', ({ region_s }) => region_s),
        time('serial', 'Main thread outside MPI and outside parallel regions', ({ serial_s }) => serial_s),
        { name: 'serial share', value: ({ serial_share }) => serial_share, render: ({ serial_share }) => percent(serial_share) },
        time('barriers', 'All threads, waiting at barriers and at the end of regions', ({ barrier_s }) => barrier_s),
        time('locks', 'All threads, waiting for critical sections and locks', ({ lock_s }) => lock_s),
        time('idle', 'Other threads, while the main thread computes outside regions', ({ idle_s }) => idle_s),
        time('overhead', 'All threads: start of regions, other synchronisation, creation of tasks', ({ overhead_s }) => overhead_s),
        {
            name: 'computation of each thread',
            value: ({ useful_s }) => useful_s.map((one) => one.toPrecision(4)).join(' '),
            render: ({ useful_s }) => useful_s.map(seconds).join(', '),
        },
    ];
    return (
        <TableFigure
            title="OpenMP threads by rank"
            columns={columns}
            rows={openmp.per_rank}
            rowKey={({ rank }) => String(rank)}
            initialRows={INITIAL_ROWS}
        />
    );
}
