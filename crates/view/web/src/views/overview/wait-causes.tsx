// Causes of lost time: wait states, the computation that caused them, and the critical path.

import { type CoreDelay, type CriticalPath, type Report, type RootCause, totalRankSeconds, type WaitState } from '../../answers/report';
import { DataTable, type TableColumn, toCsvTable } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { TableFigure } from '../../charts/table-figure';
import { isLocationSelected } from '../../links/is-location-selected';
import { LocationLink } from '../../links/location-link';
import { RanksLink } from '../../links/ranks-link';
import { locationKey, locationName } from '../../links/source-location';
import { formatRanks } from '../../ranks';
import { count, percent, plural, seconds } from '../../units';
import { LongestWaitLink } from './longest-wait-link';
import type { OverviewProps } from './overview-props';

const INITIAL_ROWS = 6;

/** The part of a wait that is due to the machine. */
const NO_CORE: TableColumn<WaitState> = {
    name: 'no core',
    description: 'Share of the wait in which the awaited rank was ready to run and had no core',
    value: (state) => state.no_core_s / Math.max(state.seconds, Number.MIN_VALUE),
    render: (state) => percent(state.no_core_s / Math.max(state.seconds, Number.MIN_VALUE)),
};

const WAITED_FOR: TableColumn<WaitState> = {
    name: 'waited for',
    description: 'Longest wait first',
    value: ({ waited_for }) => waited_for.join(' '),
    render: ({ waited_for }) => <FirstRanks ranks={waited_for} />,
};

type WaitReport = Pick<Report, 'wait_states' | 'cores' | 'profile' | 'per_rank' | 'threads'>;

/** `isPart`: the waits are those of a selection, of which neither the longest one is known nor who was waited for. */
export function WaitStates({
    report,
    recording,
    recordingIndex,
    isPart = false,
}: Omit<OverviewProps, 'report'> & { report: WaitReport; isPart?: boolean }) {
    const { wait_states: states } = report;
    if (states.length === 0) return report.profile ? null : <p>There are no wait states.</p>;
    const all = totalRankSeconds(report);
    const longest = Math.max(...states.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const longestWait: TableColumn<WaitState> = {
        name: 'longest',
        unit: 's',
        value: ({ longest_s }) => longest_s,
        render: (state) => (
            <LongestWaitLink recording={recording} recordingIndex={recordingIndex} wait={state}>
                {seconds(state.longest_s)}
            </LongestWaitLink>
        ),
    };
    const columns: TableColumn<WaitState>[] = [
        { name: 'wait state', value: ({ name }) => name },
        { name: 'operation', value: ({ operation }) => operation },
        {
            name: 'call site',
            value: locationName,
            render: (state) => <LocationLink recording={recording} location={state} operation={state.operation} />,
        },
        { name: 'waits', value: ({ waits }) => waits, render: ({ waits }) => count(waits) },
        {
            name: 'time',
            unit: 's',
            description: 'Seconds, summed over all ranks',
            value: (state) => state.seconds,
            render: (state) => seconds(state.seconds),
            bar: (state) => state.seconds / longest,
            barColour: '--waiting',
        },
        {
            name: 'of run',
            description: 'Share of the time of all ranks',
            value: (state) => state.seconds / all,
            render: (state) => percent(state.seconds / all),
        },
        ...(isPart ? [] : [longestWait]),
        ...(report.cores.split !== null && report.cores.statement !== null ? [NO_CORE] : []),
        { name: 'waiting ranks', value: ({ ranks }) => formatRanks(ranks), render: ({ ranks }) => <RanksLink ranks={ranks} /> },
        ...(isPart ? [] : [WAITED_FOR]),
    ];
    return (
        <TableFigure
            title="Wait states"
            columns={columns}
            rows={states}
            rowKey={(state) => `${state.kind} ${state.operation} ${locationKey(state)}`}
            initialRows={INITIAL_ROWS}
            isMarked={(state) => isLocationSelected(recording, state, state.operation)}
        />
    );
}

/** The first few of a list of ranks, in order. */
function FirstRanks({ ranks }: { ranks: number[] }) {
    if (ranks.length === 0) return <>–</>;
    return (
        <>
            {ranks.slice(0, 3).map((rank, index) => (
                <span key={rank}>
                    {index > 0 && ', '}
                    <RanksLink ranks={[rank]} />
                </span>
            ))}
            {ranks.length > 3 && ' …'}
        </>
    );
}

/** How long other ranks waited because of something, and the part of it that others passed on. */
function delayColumns<Row extends { seconds: number; passed_on_s: number }>(rows: Row[], description: string): TableColumn<Row>[] {
    const max = Math.max(...rows.map((row) => row.seconds), Number.MIN_VALUE);
    return [
        {
            name: 'waits',
            unit: 's',
            description,
            value: (row) => row.seconds,
            render: (row) => seconds(row.seconds),
            bar: (row) => row.seconds / max,
            barColour: '--waiting',
        },
        {
            name: 'indirect',
            unit: 's',
            description: 'Part of it that was propagated by ranks that had waited themselves',
            value: ({ passed_on_s }) => passed_on_s,
            render: ({ passed_on_s }) => seconds(passed_on_s),
        },
    ];
}

export function RootCauses({ report, recording }: OverviewProps) {
    const { root_causes: causes } = report;
    if (causes.length === 0) return null;
    const columns: TableColumn<RootCause>[] = [
        { name: 'from', value: ({ from }) => locationName(from), render: ({ from }) => <LocationLink recording={recording} location={from} /> },
        { name: 'to', value: ({ to }) => locationName(to), render: ({ to }) => <LocationLink recording={recording} location={to} /> },
        ...delayColumns(causes, 'Seconds that other ranks waited because of it'),
        {
            name: 'late ranks',
            description: 'Longest wait first',
            value: ({ ranks }) => ranks.join(' '),
            render: ({ ranks }) => <FirstRanks ranks={ranks} />,
        },
    ];
    return (
        <Figure title="Root causes of waiting" svg={null} table={() => toCsvTable(columns, causes)}>
            <DataTable
                label="Root causes"
                columns={columns}
                rows={causes}
                rowKey={({ from, to }) => `${locationKey(from)} ${locationKey(to)}`}
                initialRows={INITIAL_ROWS}
                isMarked={({ from, to }) => isLocationSelected(recording, from) || isLocationSelected(recording, to)}
            />
        </Figure>
    );
}

/** Ranks that made others wait because they waited for a core: delays that no computation explains. */
export function CoreDelays({ report }: OverviewProps) {
    const { core_delays: delays = [] } = report;
    if (delays.length === 0) return null;
    const columns: TableColumn<CoreDelay>[] = [
        { name: 'rank', value: ({ rank }) => rank, render: ({ rank }) => <RanksLink ranks={[rank]} /> },
        ...delayColumns(delays, 'Seconds that other ranks waited because it had no core'),
        {
            name: 'in MPI',
            unit: 's',
            description: 'Part of it in which it had no core inside MPI, after what it waited for was there',
            value: ({ in_mpi_s }) => in_mpi_s,
            render: ({ in_mpi_s }) => seconds(in_mpi_s),
        },
    ];
    return (
        <TableFigure
            title="Ranks that waited for a core and made others wait"
            columns={columns}
            rows={delays}
            rowKey={({ rank }) => String(rank)}
            initialRows={INITIAL_ROWS}
        />
    );
}

interface PathPart {
    segment?: CriticalPath['segments'][number];
    call?: CriticalPath['calls'][number];
    seconds: number;
    noCore: number | undefined;
    imbalance: number | null;
}

/** The part of the path without a core. */
const PATH_NO_CORE: TableColumn<PathPart> = {
    name: 'no core',
    unit: 's',
    description: 'Part of the time in which the thread was ready to run and had no core',
    value: ({ noCore }) => noCore,
    render: ({ noCore }) => (noCore === undefined ? '' : seconds(noCore)),
};

export function CriticalPathTable({ report, recording }: OverviewProps) {
    const { critical_path: path } = report;
    if (!path || path.seconds <= 0) return null;
    const parts: PathPart[] = [
        ...path.segments.map((segment) => ({
            segment,
            seconds: segment.seconds,
            noCore: segment.no_core_s,
            imbalance: segment.imbalance_s,
        })),
        ...path.calls.map((call) => ({ call, seconds: call.seconds, noCore: call.no_core_s, imbalance: null })),
    ].sort((one, other) => other.seconds - one.seconds);
    const jumps = `${plural(path.jumps, 'change')} of rank`;
    const computes = path.segments.reduce((sum, segment) => sum + segment.seconds - (segment.no_core_s ?? 0), 0);
    const withoutCore = report.cores.statement !== null && path.no_core_s !== undefined;
    const noCore = withoutCore ? `, ${percent((path.no_core_s ?? 0) / path.seconds)} without a core` : '';
    const computation = `${percent(computes / path.seconds)} of it computation${noCore}`;
    const columns: TableColumn<PathPart>[] = [
        { name: 'kind', value: ({ segment }) => (segment ? 'computation' : 'in MPI') },
        {
            name: 'where',
            value: ({ segment, call }) => (segment ? `${locationName(segment.from)} to ${locationName(segment.to)}` : call ? locationName(call) : ''),
            render: ({ segment, call }) => (
                <>
                    {segment && <LocationLink recording={recording} location={segment.from} />}
                    {segment && ' to '}
                    {segment && <LocationLink recording={recording} location={segment.to} />}
                    {call && <LocationLink recording={recording} location={call} />}
                </>
            ),
        },
        {
            name: 'time',
            unit: 's',
            value: (part) => part.seconds,
            render: (part) => seconds(part.seconds),
            bar: (part) => part.seconds / path.seconds,
            barColour: '--path',
        },
        { name: 'of path', value: (part) => part.seconds / path.seconds, render: (part) => percent(part.seconds / path.seconds) },
        ...(withoutCore ? [PATH_NO_CORE] : []),
        {
            name: 'imbalance',
            unit: 's',
            description: 'Critical-path imbalance: excess over the mean of the ranks',
            value: ({ imbalance }) => imbalance,
            render: ({ imbalance }) => (imbalance === null ? '' : seconds(imbalance)),
        },
    ];
    return (
        <Figure
            title="Critical path"
            description={`The chain of activities that determined the duration of the run: ${seconds(path.seconds)}, ${computation}, ${jumps}.`}
            svg={null}
            table={() => toCsvTable(columns, parts)}
        >
            <DataTable
                label="Critical path"
                columns={columns}
                rows={parts}
                rowKey={({ segment, call }) => JSON.stringify([segment?.from, segment?.to, call])}
                initialRows={INITIAL_ROWS}
                isMarked={({ call }) => call !== undefined && isLocationSelected(recording, call)}
            />
            <p class="on-path">
                Ranks with the largest share:{' '}
                {path.ranks.slice(0, 5).map(([rank, time], index) => (
                    <span key={rank}>
                        {index > 0 && ', '}rank <RanksLink ranks={[rank]} /> ({percent(time / path.seconds)})
                    </span>
                ))}
            </p>
        </Figure>
    );
}
