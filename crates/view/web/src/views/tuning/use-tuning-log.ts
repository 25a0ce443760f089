// The growing tuning log: polled every second for new entries until the run ends.

import { useEffect, useState } from 'preact/hooks';
import { answerSource, PendingError } from '../../answers/answer-source';
import type { TuningLog } from '../../answers/tuning';
import type { QueryState } from '../../state/use-query';

const POLL_MS = 1000;

export function useTuningLog(recording: number): QueryState<TuningLog> {
    const [query, setQuery] = useState<QueryState<TuningLog>>({ state: 'loading' });
    useEffect(() => {
        const abort = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        /** The last answer. If the run was live then, more entries may follow. */
        let last: TuningLog | undefined;
        const pollAgain = () => {
            timer = setTimeout(poll, POLL_MS);
        };
        const poll = () => {
            const entries = last?.entries ?? [];
            answerSource
                .json<TuningLog>(recording, 'tuning', entries.length > 0 ? { after: entries.length } : {}, abort.signal)
                .then((answer) => {
                    if (abort.signal.aborted) return;
                    const wasLive = last?.live ?? false;
                    last = {
                        entries: answer.entries.length > 0 ? [...entries, ...answer.entries] : entries,
                        live: answer.live,
                        began_ns: answer.began_ns,
                    };
                    setQuery({ state: 'answered', answer: last });
                    // Poll once more after the end, for entries written after this answer.
                    if (answerSource.isLive && (answer.live || wasLive)) pollAgain();
                })
                .catch((error: unknown) => {
                    if (abort.signal.aborted) return;
                    // On a temporary network failure keep the entries and continue polling.
                    if (last || error instanceof PendingError) pollAgain();
                    if (last) return;
                    if (error instanceof PendingError) setQuery({ state: 'pending', activity: error.activity, progress: error.progress });
                    else setQuery({ state: 'failed', reason: error instanceof Error ? error.message : String(error) });
                });
        };
        setQuery({ state: 'loading' });
        poll();
        return () => {
            abort.abort();
            clearTimeout(timer);
        };
    }, [recording]);
    return query;
}
