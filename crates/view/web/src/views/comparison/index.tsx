// Several recordings side by side: how well each used its time, and where two of them differ.

import type { About } from '../../answers/about';
import type { Comparison } from '../../answers/comparison';
import type { Report } from '../../answers/report';
import { source } from '../../answers/source';
import { Choice } from '../../charts/choice';
import { State } from '../../charts/state';
import { distinct } from '../../distinct';
import { selection, setOwn } from '../../state/address';
import { useAnswer } from '../../state/asked';
import type { Present } from '../../state/present';
import type { View } from '../view';
import './comparison.css';
import { Efficiencies } from './efficiencies';
import { RankTimes } from './ranks';
import { Differences } from './sites';

export const comparison: View = {
    name: 'comparison',
    title: 'Comparison',
    key: 'b',
    says: 'Recordings beside each other: efficiencies, call sites by how much they differ, ranks.',
    has: ({ subjects, recordings }) => recordings.length > 1 && subjects.includes('comparison'),
    Show,
};

function Show({ about }: { about: About }) {
    const { own } = selection.value;
    const weak = own.work === 'weak';
    const asked = useAnswer<Comparison>(0, 'comparison', weak ? { weak: 1 } : {});
    return (
        <>
            {source.live && (
                <p>
                    <Choice
                        label="Work"
                        values={['shared by all ranks', 'the same for each rank']}
                        value={weak ? 'the same for each rank' : 'shared by all ranks'}
                        choose={(value) => setOwn('work', value === 'the same for each rank' ? 'weak' : '')}
                    />
                </p>
            )}
            <State asked={asked}>{(answer) => <Efficiencies comparison={answer} />}</State>
            <Pair about={about} first={number(own.first, 0, about)} second={number(own.second, 1, about)} />
        </>
    );
}

function number(text: string | undefined, usual: number, { recordings }: About): number {
    const wanted = text === undefined ? usual : Number(text);
    return Number.isInteger(wanted) && wanted >= 0 && wanted < recordings.length ? wanted : usual;
}

function Pair({ about, first, second }: { about: About; first: number; second: number }) {
    const before = useAnswer<Report>(first, 'report');
    const after = useAnswer<Report>(second, 'report');
    const all = distinct(about.recordings.map(({ name }) => name));
    const names: [string, string] = [all[first] ?? '', all[second] ?? ''];
    const [one, other] = [about.recordings[first], about.recordings[second]];
    if (!one || !other) return null;
    const runs: [Present, Present] = [
        { number: first, recorded: one },
        { number: second, recorded: other },
    ];
    return (
        <>
            <p class="comparison-pair">
                <Pick label="From" name="first" value={first} about={about} names={all} />
                <Pick label="to" name="second" value={second} about={about} names={all} />
            </p>
            <State asked={before}>
                {(before) => (
                    <State asked={after}>
                        {(after) => (
                            <>
                                <Differences runs={runs} names={names} before={before} after={after} />
                                <RankTimes names={names} before={before} after={after} />
                            </>
                        )}
                    </State>
                )}
            </State>
        </>
    );
}

interface PickProps {
    label: string;
    /** What it is called in the address. */
    name: string;
    value: number;
    about: About;
    names: string[];
}

function Pick({ label, name, value, about, names }: PickProps) {
    return (
        <label>
            {label}{' '}
            <select value={String(value)} onChange={(event) => setOwn(name, event.currentTarget.value)}>
                {about.recordings.map((recorded, at) => (
                    <option key={at} value={String(at)}>
                        {names[at]} ({recorded.ranks} ranks)
                    </option>
                ))}
            </select>
        </label>
    );
}
