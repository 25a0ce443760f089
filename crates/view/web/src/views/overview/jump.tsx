// Leads to the longest wait of a kind on the timeline: asked for when it is wanted, since the report does not say when it was.

import type { ComponentChildren } from 'preact';
import type { Recorded } from '../../answers/about';
import { source } from '../../answers/source';
import type { WaitState } from '../../answers/report';
import { Go } from '../../links/go';
import { siteAt, sitesAt } from '../../links/place';
import { address, go } from '../../state/address';
import { askForAWhile } from '../../state/patience';
import { type Found, nearest } from '../timeline/answers';
import type { Part } from './part';

/** How much is shown on both sides, as a part of the call. */
const AROUND = 1.5;

/** The timeline of a long run may have to be made first: it is then shown without a window. */
const PATIENCE_MS = 3000;

/** Ends what is being looked for: the last wish wins. */
let looking = new AbortController();

function windowAround({ enter, leave }: Found, { begin_ns, end_ns }: Recorded) {
    const around = Math.ceil(AROUND * (leave - enter));
    return { from: Math.max(begin_ns, enter - around), to: Math.min(end_ns, leave + around) };
}

export function Jump({ recorded, number, wait, children }: Part & { wait: WaitState; children: ComponentChildren }) {
    const site = siteAt(recorded, wait);
    const { operation } = wait;
    if (site === undefined) return <>{children}</>;
    if (!source.live) {
        return (
            <Go view="timeline" change={{ site, operation }} title="Show the calls from there on the timeline">
                {children}
            </Go>
        );
    }
    const jump = async () => {
        looking.abort();
        looking = new AbortController();
        const { signal } = looking;
        const here = address.value;
        // Seconds of the report are rounded.
        const longest = { wait: wait.kind, longer: Math.floor(0.999e9 * wait.longest_s) };
        const asked = sitesAt(recorded, site).map((one) =>
            askForAWhile((stop) => source.json<Found | null>(number, 'find', { operation, site: one, ...longest }, stop), PATIENCE_MS),
        );
        const found = nearest((await Promise.all(asked)).map((one) => one ?? null));
        // Whoever has gone on meanwhile is not called back.
        if (signal.aborted || address.value !== here) return;
        go('timeline', { site, operation, ...(found && windowAround(found, recorded)) });
    };
    return (
        <button type="button" class="link" title={`Show the longest ${wait.name} on the timeline`} onClick={() => void jump()}>
            {children}
        </button>
    );
}
