// A question whose answer may take a while: shown as it comes, asked again while it is worked on, dropped when nobody wants it any more.

import { useEffect, useState } from 'preact/hooks';
import { type Query, source } from '../answers/source';
import { askPatiently } from './patience';

/** How far a question has come; `before` is the answer to the question before it. */
export type Asked<Answer> =
    | { state: 'waiting'; before?: Answer }
    | { state: 'working'; doing: string; done: number; before?: Answer }
    | { state: 'refused'; why: string; before?: Answer }
    | { state: 'answered'; answer: Answer };

/** Subjects whose answer stays the same once it is there: going from view to view need not ask again. */
const STEADY = ['report', 'program', 'drawing', 'communication', 'source'];
/** Few, for some are large. */
const MOST_KEPT = 16;
const kept = new Map<string, unknown>();

function keep(subject: string, key: string, answer: unknown): void {
    if (!STEADY.includes(subject)) return;
    kept.set(key, answer);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** The answer to a question in JSON; while a changed question is on its way, the answer before can still be shown. */
export function useAnswer<Answer>(recording: number, subject: string, query: Query = {}): Asked<Answer> {
    const key = JSON.stringify([recording, subject, query]);
    const known = kept.get(key) as Answer | undefined;
    const begun = (before: Answer | undefined): Asked<Answer> =>
        known === undefined ? { state: 'waiting', before } : { state: 'answered', answer: known };
    const [got, setGot] = useState({ key, asked: begun(undefined) });
    // What was got for another question is no answer to this one.
    const asked = got.key === key ? got.asked : begun(latest(got.asked));
    useEffect(() => {
        const before = latest(asked);
        const set = (asked: Asked<Answer>) => setGot({ key, asked });
        set(begun(before));
        if (known !== undefined) return undefined;
        return askPatiently((stop) => source.json<Answer>(recording, subject, query, stop), {
            answered: (answer) => {
                keep(subject, key, answer);
                set({ state: 'answered', answer });
            },
            working: (doing, done) => set({ state: 'working', doing, done, before }),
            refused: (why) => set({ state: 'refused', why, before }),
        });
    }, [key]);
    return asked;
}

/** The answer that is there, or was there last. */
export function latest<Answer>(asked: Asked<Answer>): Answer | undefined {
    return asked.state === 'answered' ? asked.answer : asked.before;
}
