// The tuning: what was changed while the program ran, when and why; live while it still runs.

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { About, Recorded } from '../../answers/about';
import type { Entry, Tuning } from '../../answers/tuning';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { State } from '../../charts/state';
import { Ranks } from '../../links/ranks';
import { type Present, present } from '../../state/present';
import { count, seconds } from '../../units';
import type { View } from '../view';
import { Changed, Known } from './charts';
import { useLog } from './growing';
import { Moment } from './moment';
import { changes, decisions, endOf, measured } from './series';
import './tuning.css';

export const tuning: View = {
    name: 'tuning',
    title: 'Tuning',
    key: 'u',
    says: 'What was changed while the program ran, and why.',
    has: ({ subjects }) => subjects.includes('tuning'),
    Show,
};

function Show({ about }: { about: About }) {
    const found = present(about);
    return found ? <Log key={found.number} present={found} /> : null;
}

function Log({ present: { number, recorded } }: { present: Present }) {
    return <State asked={useLog(number)}>{(answer) => <Shown tuning={answer} recorded={recorded} />}</State>;
}

function Shown({ tuning: { entries, live, began_ns }, recorded }: { tuning: Tuning; recorded: Recorded }) {
    const when: When = (time_s) => (
        <Moment recording={recorded} ns={began_ns === null ? undefined : began_ns + 1e9 * time_s}>
            {seconds(time_s)}
        </Moment>
    );
    const end = endOf(entries);
    const changed = useMemo(() => changes(entries, end), [entries]);
    const known = useMemo(() => byUnit(entries), [entries]);
    const made = useMemo(() => decisions(entries), [entries]);
    const refused = made.filter((one) => one.refused !== undefined).length;
    return (
        <>
            <p class="tuning-says" role="status">
                {live && <span class="tuning-live">live</span>}
                {made.length - refused === 1 ? '1 change' : `${made.length - refused} changes`}
                {refused > 0 && `, and ${refused} not carried out`}, {seconds(end)} long
                {live && '; the program still runs'}
            </p>
            <Told entries={entries} when={when} />
            {changed.map((series) => (
                <Changed key={`${series.tunlet} ${series.name}`} series={series} end={end} />
            ))}
            {known.map((all) => (
                <Known key={`${all[0]?.tunlet} ${all[0]?.unit}`} all={all} end={end} />
            ))}
            {made.length > 0 && <ListFigure title="Decisions" columns={columns(when)} rows={made} name={(one) => `${made.indexOf(one)}`} most={100} />}
        </>
    );
}

/** What was measured, in one chart for each unit. */
function byUnit(entries: Entry[]): ReturnType<typeof measured>[] {
    const groups = new Map<string, ReturnType<typeof measured>>();
    for (const one of measured(entries)) {
        const key = `${one.tunlet} ${one.unit}`;
        groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    return [...groups.values()];
}

/** A long tuning finds out much: the latest of it is shown. */
const MOST_TOLD = 200;

/** What tunlets found out, and what is not as it was asked for. */
function Told({ entries, when }: { entries: Entry[]; when: When }) {
    const told = entries.flatMap((entry) => (entry.kind === 'finding' || entry.kind === 'problem' ? [entry] : []));
    const [all, setAll] = useState(false);
    if (told.length === 0) return null;
    const first = all ? 0 : Math.max(0, told.length - MOST_TOLD);
    return (
        <>
            {told.length > MOST_TOLD && (
                <button type="button" onClick={() => setAll(!all)}>
                    {all ? `Show the last ${MOST_TOLD}` : `Show all ${count(told.length)} that were found`}
                </button>
            )}
            <ul class="tuning-told" aria-label="What was found" tabIndex={0}>
                {told.slice(first).map((entry, at) => (
                    <li key={first + at} class={entry.kind}>
                        <span class="quiet">{when(entry.time_s)}</span> {entry.kind === 'finding' && <strong>{entry.tunlet}:</strong>} {entry.what}
                    </li>
                ))}
            </ul>
        </>
    );
}

type Made = ReturnType<typeof decisions>[number];

/** Shows when something was, which leads to the timeline. */
type When = (time_s: number) => ComponentChildren;

const columns = (when: When): Column<Made>[] => [
    { name: 'time (s)', value: ({ time_s }) => time_s, show: ({ time_s }) => when(time_s) },
    { name: 'tunlet', value: ({ tunlet }) => tunlet },
    { name: 'what', value: ({ action }) => action },
    { name: 'from', value: ({ old }) => old, show: ({ old }) => old ?? '?' },
    { name: 'to', value: (one) => one.new },
    {
        name: 'processes',
        value: ({ processes }) => processes,
        show: ({ processes, rank }) => (processes > 1 ? count(processes) : rank === null ? 'all' : <Ranks ranks={[rank]} />),
    },
    { name: 'why', value: ({ why }) => why },
    { name: 'not carried out because', value: ({ refused }) => refused ?? '' },
];
