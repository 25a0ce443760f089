// A link to the longest wait of a kind on the timeline. It is searched for on click, because the report does not contain its time.

import type { ComponentChildren } from 'preact';
import type { RecordingSummary } from '../../answers/about';
import { answerSource } from '../../answers/answer-source';
import type { WaitState } from '../../answers/report';
import { siteIndexAt, siteIndicesAt } from '../../links/source-location';
import { ViewLink } from '../../links/view-link';
import { address, navigate } from '../../state/address';
import { queryWithTimeout } from '../../state/retry';
import { type FoundCall, nearestCall } from '../timeline/timeline-data';
import type { OverviewProps } from './overview-props';

/** Margin on both sides, relative to the duration of the call. */
const MARGIN_FACTOR = 1.5;

/** Building the timeline of a long run may take longer; it is then opened without a time window. */
const TIMEOUT_MS = 3000;

/** Cancels the previous search: the last click wins. */
let pendingQuery = new AbortController();

function windowAround({ enter, leave }: FoundCall, { begin_ns, end_ns }: RecordingSummary) {
    const around = Math.ceil(MARGIN_FACTOR * (leave - enter));
    return { from: Math.max(begin_ns, enter - around), to: Math.min(end_ns, leave + around) };
}

type Props = Omit<OverviewProps, 'report'> & { wait: WaitState; children: ComponentChildren };

export function LongestWaitLink({ recording, recordingIndex, wait, children }: Props) {
    const site = siteIndexAt(recording, wait);
    const { operation } = wait;
    if (site === undefined) return <>{children}</>;
    if (!answerSource.isLive) {
        return (
            <ViewLink view="timeline" change={{ site, operation }} title="Show its calls on the timeline">
                {children}
            </ViewLink>
        );
    }
    const jump = async () => {
        pendingQuery.abort();
        pendingQuery = new AbortController();
        const { signal } = pendingQuery;
        const here = address.value;
        // Times in the report are rounded.
        const longest = { wait: wait.kind, longer: Math.floor(0.999e9 * wait.longest_s) };
        const queries = siteIndicesAt(recording, site).map((one) =>
            queryWithTimeout(
                (signal) => answerSource.json<FoundCall | null>(recordingIndex, 'find', { operation, site: one, ...longest }, signal),
                TIMEOUT_MS,
            ),
        );
        const found = nearestCall((await Promise.all(queries)).map((one) => one ?? null));
        // The user has navigated away in the meantime.
        if (signal.aborted || address.value !== here) return;
        navigate('timeline', { site, operation, ...(found && windowAround(found, recording)) });
    };
    return (
        <button type="button" class="link" title={`Show the longest ${wait.name} on the timeline`} onClick={() => void jump()}>
            {children}
        </button>
    );
}
