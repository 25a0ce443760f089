// The call sites of a report, with the waits that happened at each.

import type { Recorded, Site } from '../../answers/about';
import { allSeconds, type Report } from '../../answers/report';
import { placeKey, placeName, siteAt } from '../../links/place';

export interface CallSiteRow {
    /** The number of the call site, if the recording names it. */
    site: number | undefined;
    place: Site;
    /** The place in a few letters. */
    where: string;
    operation: string;
    calls: number;
    seconds: number;
    /** Share of all ranks' time. */
    share: number;
    bytes: number;
    /** Seconds of waiting for others, and the kinds of wait, longest first. */
    waits_s: number;
    waits: string[];
}

export function callSites(report: Report, recorded: Recorded): CallSiteRow[] {
    const key = (place: Site & { operation: string }) => `${place.operation} ${placeKey(place)}`;
    const waits = new Map<string, { seconds: number; names: string[] }>();
    for (const state of report.wait_states) {
        const sum = waits.get(key(state)) ?? { seconds: 0, names: [] };
        waits.set(key(state), { seconds: sum.seconds + state.seconds, names: [...sum.names, state.name] });
    }
    const all = allSeconds(report);
    return report.call_sites.map((call) => {
        const { operation, calls, seconds, bytes, ...place } = call;
        const waited = waits.get(key(call));
        return {
            site: siteAt(recorded, place),
            place,
            where: placeName(place),
            operation,
            calls,
            seconds,
            share: seconds / all,
            bytes,
            waits_s: waited?.seconds ?? 0,
            waits: waited?.names ?? [],
        };
    });
}
