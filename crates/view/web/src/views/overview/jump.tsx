// Leads to the longest wait of a kind on the timeline: asked for when it is wanted, since the report does not say when it was.

import type { ComponentChildren } from 'preact';
import type { Recorded } from '../../answers/about';
import { source } from '../../answers/source';
import type { WaitState } from '../../answers/report';
import { Go } from '../../links/go';
import { siteAt, sitesAt } from '../../links/place';
import { address, go } from '../../state/address';
import { type Found, nearest } from '../timeline/answers';
import type { Part } from './part';

/** How much is shown on both sides, as a part of the call. */
const AROUND = 1.5;

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
    const title = `Show the longest ${wait.name} on the timeline`;
    if (!source.live) {
        return (
            <Go view="timeline" change={{ site, operation }} title={title}>
                {children}
            </Go>
        );
    }
    const jump = async () => {
        looking.abort();
        looking = new AbortController();
        const { signal } = looking;
        const here = address.value;
        const longer = Math.floor(0.999e9 * wait.longest_s);
        const asked = sitesAt(recorded, site).map((one) =>
            source.json<Found | null>(number, 'find', { from: recorded.begin_ns, operation, site: one, longer }, signal).catch(() => null),
        );
        const found = nearest(await Promise.all(asked));
        // Whoever has gone on meanwhile is not called back.
        if (signal.aborted || address.value !== here) return;
        go('timeline', { site, operation, ...(found && windowAround(found, recorded)) });
    };
    return (
        <button type="button" class="link" title={title} onClick={() => void jump()}>
            {children}
        </button>
    );
}
