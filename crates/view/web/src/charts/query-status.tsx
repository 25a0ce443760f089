// Shows the progress of a query, then its answer.

import type { ComponentChildren } from 'preact';
import { latestAnswer, type QueryState } from '../state/use-query';
import { count } from '../units';
import './query-status.css';

interface Props<Answer> {
    query: QueryState<Answer>;
    /** Keep showing the previous answer after a failure, because it holds the controls to correct the query. */
    keepsPrevious?: boolean;
    children: (answer: Answer) => ComponentChildren;
}

/** Always renders the same element, so that children keep their focus and state when a new answer arrives. */
export function QueryStatus<Answer>({ query, keepsPrevious = false, children }: Props<Answer>) {
    const shown = query.state === 'failed' && !keepsPrevious ? undefined : latestAnswer(query);
    const isBusy = shown !== undefined && (query.state === 'loading' || query.state === 'pending');
    return (
        <div aria-busy={isBusy}>
            <QueryProgress query={query} isBusy={isBusy} />
            {shown !== undefined && children(shown)}
            {query.state === 'answered' && <TruncationNote answer={query.answer} />}
        </div>
    );
}

/** Status of a query without an answer. */
function QueryProgress<Answer>({ query, isBusy }: { query: QueryState<Answer>; isBusy: boolean }) {
    switch (query.state) {
        case 'answered':
            return null;
        case 'loading':
            return isBusy ? null : (
                <p class="query-status" role="status">
                    Loading …
                </p>
            );
        case 'pending':
            return (
                <p class="query-status" role="status">
                    <label>
                        {capitalised(query.activity)} … <progress value={query.progress} max={1} />
                    </label>
                </p>
            );
        case 'failed':
            return (
                <p class="query-status failed" role="status">
                    {capitalised(query.reason)}
                </p>
            );
    }
}

/** In a standalone file, the longest lists of an answer may be truncated; `cut` lists them with their full length. */
function TruncationNote({ answer }: { answer: unknown }) {
    if (typeof answer !== 'object' || answer === null || !('cut' in answer) || typeof answer.cut !== 'object' || answer.cut === null) return null;
    const lists = Object.entries(answer.cut).map(([name, length]) => `${name.replaceAll('_', ' ')} (${count(Number(length))} in all)`);
    return (
        <p class="query-status">
            To keep this file small, the longest lists were truncated: {lists.join(', ')}. Open the recording with `sintonia view` to see them in
            full.
        </p>
    );
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
