// A question whose answer may take a while: shown as it comes, asked again while it is worked on, dropped when nobody wants it any more.

import { useEffect, useState } from 'preact/hooks';
import { type Query, source, Working } from '../answers/source';

/** How far a question has come. */
export type Asked<Answer> =
    | { state: 'waiting'; before?: Answer }
    | { state: 'working'; doing: string; done: number }
    | { state: 'refused'; why: string }
    | { state: 'answered'; answer: Answer };

const AGAIN_MS = 500;

/** Subjects whose answer stays the same once it is there: going from view to view need not ask again. */
const STEADY = ['report', 'program', 'drawing', 'communication', 'source'];
const MOST_KEPT = 32;
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
    const [asked, setAsked] = useState<Asked<Answer>>(known === undefined ? { state: 'waiting' } : { state: 'answered', answer: known });
    useEffect(() => {
        if (known !== undefined) {
            setAsked({ state: 'answered', answer: known });
            return undefined;
        }
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const ask = () => {
            source
                .json<Answer>(recording, subject, query, stop.signal)
                .then((answer) => {
                    keep(subject, key, answer);
                    if (!stop.signal.aborted) setAsked({ state: 'answered', answer });
                })
                .catch((error: unknown) => {
                    if (stop.signal.aborted) return;
                    if (error instanceof Working) {
                        setAsked({ state: 'working', doing: error.doing, done: error.done });
                        timer = setTimeout(ask, AGAIN_MS);
                    } else setAsked({ state: 'refused', why: error instanceof Error ? error.message : String(error) });
                });
        };
        setAsked((now) => (now.state === 'answered' ? { state: 'waiting', before: now.answer } : { state: 'waiting' }));
        ask();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [key]);
    return asked;
}
