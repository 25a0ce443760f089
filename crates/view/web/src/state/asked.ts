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

/** The answer to a question in JSON; while a changed question is on its way, the answer before can still be shown. */
export function useAnswer<Answer>(recording: number, subject: string, query: Query = {}): Asked<Answer> {
    const [asked, setAsked] = useState<Asked<Answer>>({ state: 'waiting' });
    const key = JSON.stringify([recording, subject, query]);
    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const ask = () => {
            source
                .json<Answer>(recording, subject, query, stop.signal)
                .then((answer) => !stop.signal.aborted && setAsked({ state: 'answered', answer }))
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
