// A time, as a link to the timeline around it.

import type { ComponentChildren } from 'preact';
import type { RecordingSummary } from '../../answers/about';
import { ViewLink } from '../../links/view-link';
import { clampSpan } from '../timeline/time-span';

/** Margin on both sides: half a second, or 5 % of a short run. */
const MARGIN_NS = 5e8;
const MARGIN_SHARE = 0.05;

interface Props {
    recording: RecordingSummary;
    /** Nanoseconds on the timeline; undefined if unknown. */
    ns: number | undefined;
    children: ComponentChildren;
}

export function TimeLink({ recording: { begin_ns, end_ns }, ns, children }: Props) {
    if (ns === undefined || ns < begin_ns || ns > end_ns) return <>{children}</>;
    const around = Math.min(MARGIN_NS, MARGIN_SHARE * (end_ns - begin_ns));
    const shown = clampSpan({ from: ns - around, to: ns + around }, { from: begin_ns, to: end_ns }, 1);
    return (
        <ViewLink view="timeline" change={shown} title="Show this time on the timeline">
            {children}
        </ViewLink>
    );
}
