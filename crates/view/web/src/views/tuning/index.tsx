// Tuning view: what was changed while the program ran, when and why. Updated while it runs.

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { About, RecordingSummary } from '../../answers/about';
import type { TuningEntry, TuningLog } from '../../answers/tuning';
import type { TableColumn } from '../../charts/data-table';
import { QueryStatus } from '../../charts/query-status';
import { TableFigure } from '../../charts/table-figure';
import { RanksLink } from '../../links/ranks-link';
import { type CurrentRecording, currentRecording } from '../../state/current-recording';
import { count, seconds } from '../../units';
import type { PageView } from '../view';
import { ChangeChart, MetricChart } from './charts';
import { changeSeries, decisions, endTime, metricSeries } from './series';
import { TimeLink } from './time-link';
import { useTuningLog } from './use-tuning-log';
import './tuning.css';

export const tuning: PageView = {
    name: 'tuning',
    title: 'Tuning',
    key: 'u',
    description: 'Changes made while the program ran, and the reasons.',
    isAvailable: ({ subjects }) => subjects.includes('tuning'),
    Component: Show,
};

function Show({ about }: { about: About }) {
    const found = currentRecording(about);
    return found ? <TuningQuery key={found.index} present={found} /> : null;
}

function TuningQuery({ present: { index, recording } }: { present: CurrentRecording }) {
    return <QueryStatus query={useTuningLog(index)}>{(answer) => <TuningSections tuning={answer} recording={recording} />}</QueryStatus>;
}

function TuningSections({ tuning: { entries, live, began_ns }, recording }: { tuning: TuningLog; recording: RecordingSummary }) {
    const when: TimeRenderer = (time_s) => (
        <TimeLink recording={recording} ns={began_ns === null ? undefined : began_ns + 1e9 * time_s}>
            {seconds(time_s)}
        </TimeLink>
    );
    const end = endTime(entries);
    const changed = useMemo(() => changeSeries(entries, end), [entries]);
    const known = useMemo(() => metricsByUnit(entries), [entries]);
    const made = useMemo(() => decisions(entries), [entries]);
    const refused = made.filter((one) => one.refused !== undefined).length;
    return (
        <>
            <p class="tuning-status" role="status">
                {live && <span class="tuning-live">live</span>}
                {made.length - refused === 1 ? '1 change' : `${made.length - refused} changes`}
                {refused > 0 && `, and ${refused} not carried out`}, {seconds(end)} long
                {live && '; the program is still running'}
            </p>
            <FindingList entries={entries} when={when} />
            {changed.map((series) => (
                <ChangeChart key={`${series.tunlet} ${series.name}`} series={series} end={end} />
            ))}
            {known.map((all) => (
                <MetricChart key={`${all[0]?.tunlet} ${all[0]?.unit}`} all={all} end={end} />
            ))}
            {made.length > 0 && (
                <TableFigure title="Decisions" columns={columns(when)} rows={made} rowKey={(one) => `${made.indexOf(one)}`} initialRows={100} />
            )}
        </>
    );
}

/** One chart per unit. */
function metricsByUnit(entries: TuningEntry[]): ReturnType<typeof metricSeries>[] {
    const groups = new Map<string, ReturnType<typeof metricSeries>>();
    for (const one of metricSeries(entries)) {
        const key = `${one.tunlet} ${one.unit}`;
        groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    return [...groups.values()];
}

/** Only the latest findings are shown at first. */
const MAX_FINDINGS = 200;

/** Findings of tunlets, and problems. */
function FindingList({ entries, when }: { entries: TuningEntry[]; when: TimeRenderer }) {
    const findings = entries.flatMap((entry) => (entry.kind === 'finding' || entry.kind === 'verdict' || entry.kind === 'problem' ? [entry] : []));
    const [all, setAll] = useState(false);
    if (findings.length === 0) return null;
    const first = all ? 0 : Math.max(0, findings.length - MAX_FINDINGS);
    return (
        <>
            {findings.length > MAX_FINDINGS && (
                <button type="button" onClick={() => setAll(!all)}>
                    {all ? `Show the last ${MAX_FINDINGS}` : `Show all ${count(findings.length)} findings`}
                </button>
            )}
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable */}
            <ul class="tuning-findings" aria-label="Findings" tabIndex={0}>
                {findings.slice(first).map((entry, index) => (
                    <li key={first + index} class={entry.kind}>
                        <span class="muted">{when(entry.time_s)}</span> {entry.kind !== 'problem' && <strong>{entry.tunlet}:</strong>} {entry.what}
                    </li>
                ))}
            </ul>
        </>
    );
}

type CountedDecision = ReturnType<typeof decisions>[number];

/** Renders a time, as a link to the timeline. */
type TimeRenderer = (time_s: number) => ComponentChildren;

const columns = (when: TimeRenderer): TableColumn<CountedDecision>[] => [
    { name: 'time (s)', value: ({ time_s }) => time_s, render: ({ time_s }) => when(time_s) },
    { name: 'tunlet', value: ({ tunlet }) => tunlet },
    { name: 'what', value: ({ action }) => action },
    { name: 'from', value: ({ old }) => old, render: ({ old }) => old ?? '?' },
    { name: 'to', value: (one) => one.new },
    {
        name: 'processes',
        value: ({ processes }) => processes,
        render: ({ processes, rank }) => (processes > 1 ? count(processes) : rank === null ? 'all' : <RanksLink ranks={[rank]} />),
    },
    { name: 'why', value: ({ why }) => why },
    { name: 'not carried out because', value: ({ refused }) => refused ?? '' },
];
