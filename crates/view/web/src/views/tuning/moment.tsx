// A moment that leads to what the ranks did around it.

import type { ComponentChildren } from 'preact';
import type { Recorded } from '../../answers/about';
import { Go } from '../../links/go';
import { within } from '../timeline/span';

/** How much is shown on both sides: half a second, of a short run a twentieth. */
const AROUND_NS = 5e8;
const PART = 0.05;

interface Props {
    recording: Recorded;
    /** Nanoseconds of the timeline; not known where `undefined`. */
    ns: number | undefined;
    children: ComponentChildren;
}

export function Moment({ recording: { begin_ns, end_ns }, ns, children }: Props) {
    if (ns === undefined || ns < begin_ns || ns > end_ns) return <>{children}</>;
    const around = Math.min(AROUND_NS, PART * (end_ns - begin_ns));
    const shown = within({ from: ns - around, to: ns + around }, { from: begin_ns, to: end_ns }, 1);
    return (
        <Go view="timeline" change={shown} title="Show on the timeline what the ranks did then">
            {children}
        </Go>
    );
}
