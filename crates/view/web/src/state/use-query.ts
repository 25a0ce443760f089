// Hook for a query: reports progress, retries while the answer is pending, cancels when no longer needed.

import { useEffect, useState } from 'preact/hooks';
import { answerSource, type QueryParams } from '../answers/answer-source';
import { queryWithRetry } from './retry';

/** State of a query; `previous` is the answer to the preceding query. */
export type QueryState<Answer> =
    | { state: 'loading'; previous?: Answer }
    | { state: 'pending'; activity: string; progress: number; previous?: Answer }
    | { state: 'failed'; reason: string; previous?: Answer }
    | { state: 'answered'; answer: Answer };

/** Subjects whose answers never change, so they are cached across views. */
const CACHED_SUBJECTS = ['report', 'program', 'drawing', 'communication', 'source', 'stacks', 'lines', 'sums'];
/** Small, because some answers are large. */
const MAX_CACHED = 16;
const cache = new Map<string, unknown>();

function cacheAnswer(subject: string, key: string, answer: unknown): void {
    if (!CACHED_SUBJECTS.includes(subject)) return;
    cache.set(key, answer);
    const [oldest] = cache.keys();
    if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest);
}

/** Queries a subject. While a changed query is pending, the previous answer remains available. */
export function useQuery<Answer>(recording: number, subject: string, params: QueryParams = {}): QueryState<Answer> {
    const key = JSON.stringify([recording, subject, params]);
    const cached = cache.get(key) as Answer | undefined;
    const initialState = (previous: Answer | undefined): QueryState<Answer> =>
        cached === undefined ? { state: 'loading', previous } : { state: 'answered', answer: cached };
    const [stored, setStored] = useState({ key, query: initialState(undefined) });
    // A stored result of another query is only the previous answer.
    const current = stored.key === key ? stored.query : initialState(latestAnswer(stored.query));
    useEffect(() => {
        const previous = latestAnswer(current);
        const set = (next: QueryState<Answer>) => setStored({ key, query: next });
        set(initialState(previous));
        if (cached !== undefined) return undefined;
        return queryWithRetry((signal) => answerSource.json<Answer>(recording, subject, params, signal), {
            answered: (answer) => {
                cacheAnswer(subject, key, answer);
                set({ state: 'answered', answer });
            },
            pending: (activity, progress) => set({ state: 'pending', activity, progress, previous }),
            failed: (reason) => set({ state: 'failed', reason, previous }),
        });
    }, [key]);
    return current;
}

/** The current or the previous answer. */
export function latestAnswer<Answer>(query: QueryState<Answer>): Answer | undefined {
    return query.state === 'answered' ? query.answer : query.previous;
}
