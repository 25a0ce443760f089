// Compares recordings: efficiencies of all, and the differences between two of them.

import type { About } from '../../answers/about';
import { answerSource } from '../../answers/answer-source';
import type { Comparison } from '../../answers/comparison';
import type { Report } from '../../answers/report';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { QueryStatus } from '../../charts/query-status';
import { selection, setViewParam } from '../../state/address';
import type { CurrentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { uniqueNames } from '../../unique-names';
import type { PageView } from '../view';
import './comparison.css';
import { Efficiencies } from './efficiencies';
import { RankTimes } from './rank-times';
import { SiteDifferences } from './site-differences';

export const comparison: PageView = {
    name: 'comparison',
    title: 'Comparison',
    key: 'b',
    description: 'Compares recordings: efficiencies, differences of call sites, ranks.',
    isAvailable: ({ subjects, recordings }) => recordings.length > 1 && subjects.includes('comparison'),
    Component: Show,
};

function Show({ about }: { about: About }) {
    const { viewParams } = selection.value;
    const weak = viewParams.work === 'weak';
    const query = useQuery<Comparison>(0, 'comparison', weak ? { weak: 1 } : {});
    return (
        <>
            {answerSource.isLive && (
                <p>
                    <ChoiceButtons
                        label="Scaling"
                        values={['strong', 'weak']}
                        value={weak ? 'weak' : 'strong'}
                        choose={(value) => setViewParam('work', value === 'weak' ? 'weak' : '')}
                    />
                </p>
            )}
            <QueryStatus query={query}>{(answer) => <Efficiencies comparison={answer} />}</QueryStatus>
            <ComparedPair about={about} first={parseIndex(viewParams.first, 0, about)} second={parseIndex(viewParams.second, 1, about)} />
        </>
    );
}

function parseIndex(text: string | undefined, usual: number, { recordings }: About): number {
    const wanted = text === undefined ? usual : Number(text);
    return Number.isInteger(wanted) && wanted >= 0 && wanted < recordings.length ? wanted : usual;
}

function ComparedPair({ about, first, second }: { about: About; first: number; second: number }) {
    const before = useQuery<Report>(first, 'report');
    const after = useQuery<Report>(second, 'report');
    const all = uniqueNames(about.recordings.map(({ name }) => name));
    const names: [string, string] = [all[first] ?? '', all[second] ?? ''];
    const [one, other] = [about.recordings[first], about.recordings[second]];
    if (!one || !other) return null;
    const runs: [CurrentRecording, CurrentRecording] = [
        { index: first, recording: one },
        { index: second, recording: other },
    ];
    return (
        <>
            <p class="comparison-pair">
                <RecordingSelect label="From" name="first" value={first} about={about} names={all} />
                <RecordingSelect label="to" name="second" value={second} about={about} names={all} />
            </p>
            <QueryStatus query={before}>
                {(before) => (
                    <QueryStatus query={after}>
                        {(after) => (
                            <>
                                <SiteDifferences runs={runs} names={names} before={before} after={after} />
                                <RankTimes names={names} before={before} after={after} />
                            </>
                        )}
                    </QueryStatus>
                )}
            </QueryStatus>
        </>
    );
}

interface PickProps {
    label: string;
    /** Name of its parameter in the address. */
    name: string;
    value: number;
    about: About;
    names: string[];
}

function RecordingSelect({ label, name, value, about, names }: PickProps) {
    return (
        <label>
            {label}{' '}
            <select value={String(value)} onChange={(event) => setViewParam(name, event.currentTarget.value)}>
                {about.recordings.map((recording, index) => (
                    <option key={index} value={String(index)}>
                        {names[index]} ({recording.ranks} ranks)
                    </option>
                ))}
            </select>
        </label>
    );
}
