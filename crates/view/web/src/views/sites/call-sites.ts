// Rows of the call site table: call sites of the report with their waiting times.

import type { RecordingSummary, SourceLocation } from '../../answers/about';
import { type Report, totalRankSeconds } from '../../answers/report';
import { locationKey, locationName, siteIndexAt } from '../../links/source-location';

export interface CallSiteRow {
    /** Index of the call site, if the recording has it. */
    siteIndex: number | undefined;
    location: SourceLocation;
    locationName: string;
    operation: string;
    calls: number;
    seconds: number;
    /** Share of the time of all ranks. */
    share: number;
    bytes: number;
    /** Seconds of waiting, and the kinds of wait states, longest first. */
    waits_s: number;
    waits: string[];
}

export type SiteReport = Pick<Report, 'wait_states' | 'call_sites' | 'per_rank' | 'threads'>;

export function callSiteRows(report: SiteReport, recording: RecordingSummary): CallSiteRow[] {
    const key = (location: SourceLocation & { operation: string }) => `${location.operation} ${locationKey(location)}`;
    const waits = new Map<string, { seconds: number; names: string[] }>();
    for (const state of report.wait_states) {
        const sum = waits.get(key(state)) ?? { seconds: 0, names: [] };
        waits.set(key(state), { seconds: sum.seconds + state.seconds, names: [...sum.names, state.name] });
    }
    const all = totalRankSeconds(report);
    return report.call_sites.map((call) => {
        const { operation, calls, seconds, bytes, ...location } = call;
        const waited = waits.get(key(call));
        return {
            siteIndex: siteIndexAt(recording, location),
            location,
            locationName: locationName(location),
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
