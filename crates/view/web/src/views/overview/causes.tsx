// Why time was lost: waits, the computation that caused them, and the chain that made the run as long as it was.

import { allSeconds, type CriticalPath, type RootCause, type WaitState } from '../../answers/report';
import { Figure } from '../../charts/figure';
import { ListFigure } from '../../charts/list-figure';
import { type Column, Rows, tableOf } from '../../charts/rows';
import { At } from '../../links/at';
import { isPlaceSelected } from '../../links/marked';
import { placeKey, placeName } from '../../links/place';
import { Ranks } from '../../links/ranks';
import { write } from '../../ranks';
import { count, percent, plural, seconds } from '../../units';
import { Jump } from './jump';
import type { Part } from './part';

const MOST = 6;

export function Waits(part: Part) {
    const { report, recorded } = part;
    const { wait_states: states } = report;
    if (states.length === 0) return report.profile ? null : <p>No rank waited for another.</p>;
    const all = allSeconds(report);
    const longest = Math.max(...states.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const columns: Column<WaitState>[] = [
        { name: 'wait', value: ({ name }) => name },
        { name: 'operation', value: ({ operation }) => operation },
        { name: 'called at', value: placeName, show: (state) => <At recording={recorded} place={state} operation={state.operation} /> },
        { name: 'waits', value: ({ waits }) => waits, show: ({ waits }) => count(waits) },
        {
            name: 'time',
            unit: 's',
            says: 'Seconds of all ranks together',
            value: (state) => state.seconds,
            show: (state) => seconds(state.seconds),
            bar: (state) => state.seconds / longest,
            variable: '--waiting',
        },
        { name: 'of run', says: 'Share of all ranks’ time', value: (state) => state.seconds / all, show: (state) => percent(state.seconds / all) },
        {
            name: 'longest',
            unit: 's',
            value: ({ longest_s }) => longest_s,
            show: (state) => (
                <Jump {...part} wait={state}>
                    {seconds(state.longest_s)}
                </Jump>
            ),
        },
        { name: 'who waited', value: ({ ranks }) => write(ranks), show: ({ ranks }) => <Ranks ranks={ranks} /> },
        {
            name: 'for whom',
            says: 'Those waited for longest come first',
            value: ({ waited_for }) => waited_for.join(' '),
            show: ({ waited_for }) => <First ranks={waited_for} />,
        },
    ];
    return (
        <ListFigure
            title="Waiting for others"
            columns={columns}
            rows={states}
            name={(state) => `${state.kind} ${state.operation} ${placeKey(state)}`}
            most={MOST}
            isMarked={(state) => isPlaceSelected(recorded, state, state.operation)}
        />
    );
}

/** The first of many ranks, in their order. */
function First({ ranks }: { ranks: number[] }) {
    if (ranks.length === 0) return <>–</>;
    return (
        <>
            {ranks.slice(0, 3).map((rank, at) => (
                <span key={rank}>
                    {at > 0 && ', '}
                    <Ranks ranks={[rank]} />
                </span>
            ))}
            {ranks.length > 3 && ' …'}
        </>
    );
}

export function Causes({ report, recorded }: Part) {
    const { root_causes: causes } = report;
    if (causes.length === 0) return null;
    const most = Math.max(...causes.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const columns: Column<RootCause>[] = [
        { name: 'from', value: ({ from }) => placeName(from), show: ({ from }) => <At recording={recorded} place={from} /> },
        { name: 'to', value: ({ to }) => placeName(to), show: ({ to }) => <At recording={recorded} place={to} /> },
        {
            name: 'waits',
            unit: 's',
            says: 'Seconds that others waited because of it',
            value: (cause) => cause.seconds,
            show: (cause) => seconds(cause.seconds),
            bar: (cause) => cause.seconds / most,
            variable: '--waiting',
        },
        {
            name: 'passed on',
            unit: 's',
            says: 'Part of it that others passed on who had waited themselves',
            value: ({ passed_on_s }) => passed_on_s,
            show: ({ passed_on_s }) => seconds(passed_on_s),
        },
        {
            name: 'late ranks',
            says: 'Those that were waited for longest come first',
            value: ({ ranks }) => ranks.join(' '),
            show: ({ ranks }) => <First ranks={ranks} />,
        },
    ];
    return (
        <Figure title="Computation that made others wait" svg={null} table={() => tableOf(columns, causes)}>
            <Rows
                label="Root causes"
                columns={columns}
                rows={causes}
                name={({ from, to }) => `${placeKey(from)} ${placeKey(to)}`}
                most={MOST}
                isMarked={({ from, to }) => isPlaceSelected(recorded, from) || isPlaceSelected(recorded, to)}
            />
        </Figure>
    );
}

interface OnPath {
    segment?: CriticalPath['segments'][number];
    call?: CriticalPath['calls'][number];
    seconds: number;
    imbalance: number | null;
}

export function Path({ report, recorded }: Part) {
    const { critical_path: path } = report;
    if (!path || path.seconds <= 0) return null;
    const parts: OnPath[] = [
        ...path.segments.map((segment) => ({ segment, seconds: segment.seconds, imbalance: segment.imbalance_s })),
        ...path.calls.map((call) => ({ call, seconds: call.seconds, imbalance: null })),
    ].sort((one, other) => other.seconds - one.seconds);
    const jumps = `${plural(path.jumps, 'jump')} from rank to rank`;
    const computes = path.segments.reduce((sum, segment) => sum + segment.seconds, 0);
    const computation = `${percent(computes / path.seconds)} of it computation`;
    const columns: Column<OnPath>[] = [
        { name: 'what', value: ({ segment }) => (segment ? 'computation' : 'in MPI') },
        {
            name: 'where',
            value: ({ segment, call }) => (segment ? `${placeName(segment.from)} to ${placeName(segment.to)}` : call ? placeName(call) : ''),
            show: ({ segment, call }) => (
                <>
                    {segment && <At recording={recorded} place={segment.from} />}
                    {segment && ' to '}
                    {segment && <At recording={recorded} place={segment.to} />}
                    {call && <At recording={recorded} place={call} />}
                </>
            ),
        },
        {
            name: 'time',
            unit: 's',
            value: (part) => part.seconds,
            show: (part) => seconds(part.seconds),
            bar: (part) => part.seconds / path.seconds,
            variable: '--path',
        },
        { name: 'of path', value: (part) => part.seconds / path.seconds, show: (part) => percent(part.seconds / path.seconds) },
        {
            name: 'above mean',
            unit: 's',
            says: 'How much more of it is on the path than a rank has on average',
            value: ({ imbalance }) => imbalance,
            show: ({ imbalance }) => (imbalance === null ? '' : seconds(imbalance)),
        },
    ];
    return (
        <Figure
            title="Critical path"
            says={`The chain that made the run as long as it was: ${seconds(path.seconds)}, ${computation}, ${jumps}.`}
            svg={null}
            table={() => tableOf(columns, parts)}
        >
            <Rows
                label="Critical path"
                columns={columns}
                rows={parts}
                name={({ segment, call }) => JSON.stringify([segment?.from, segment?.to, call])}
                most={MOST}
                isMarked={({ call }) => call !== undefined && isPlaceSelected(recorded, call)}
            />
            <p class="on-path">
                Most on it:{' '}
                {path.ranks.slice(0, 5).map(([rank, time], at) => (
                    <span key={rank}>
                        {at > 0 && ', '}rank <Ranks ranks={[rank]} /> ({percent(time / path.seconds)})
                    </span>
                ))}
            </p>
        </Figure>
    );
}
