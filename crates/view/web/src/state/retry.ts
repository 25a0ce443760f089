// Repeats a query while the server is still computing the answer.

import { PendingError } from '../answers/answer-source';

const RETRY_MS = 500;

interface QueryCallbacks<Answer> {
    answered: (answer: Answer) => void;
    /** `progress` is between 0 and 1. */
    pending: (activity: string, progress: number) => void;
    failed: (reason: string) => void;
}

/** The answer, or undefined after a timeout. */
export function queryWithTimeout<Answer>(query: (signal: AbortSignal) => Promise<Answer>, timeoutMs: number): Promise<Answer | undefined> {
    return new Promise((settle) => {
        const end = queryWithRetry(query, { answered: settle, pending: () => {}, failed: () => settle(undefined) });
        setTimeout(() => {
            end();
            settle(undefined);
        }, timeoutMs);
    });
}

/** Returns a function that cancels the query; no callback is called afterwards. */
export function queryWithRetry<Answer>(
    query: (signal: AbortSignal) => Promise<Answer>,
    { answered, pending, failed }: QueryCallbacks<Answer>,
): () => void {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const attempt = () => {
        query(abort.signal).then(
            (answer) => {
                if (!abort.signal.aborted) answered(answer);
            },
            (error: unknown) => {
                if (abort.signal.aborted) return;
                if (error instanceof PendingError) {
                    pending(error.activity, error.progress);
                    timer = setTimeout(attempt, RETRY_MS);
                } else failed(error instanceof Error ? error.message : String(error));
            },
        );
    };
    attempt();
    return () => {
        abort.abort();
        clearTimeout(timer);
    };
}
