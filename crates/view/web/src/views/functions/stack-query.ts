// The queries of the function view: the selection, and the baseline it is compared with.

import type { QueryParams } from '../../answers/answer-source';
import { formatRanks, parseRanks } from '../../ranks';
import type { Selection } from '../../state/address';

/** What the selection is compared with: other ranks, or another recording. */
export type Baseline = { ranks: string } | { recording: number } | undefined;

/** A baseline as in the address: `ranks:0-3` or `recording:1`. */
export function parseBaseline(text: string | undefined, recordings: number): Baseline {
    const [, kind, value = ''] = /^(ranks|recording):(.*)$/.exec(text ?? '') ?? [];
    if (kind === 'ranks') return { ranks: value };
    const number = Number(value);
    return kind === 'recording' && value !== '' && Number.isInteger(number) && number >= 0 && number < recordings ? { recording: number } : undefined;
}

export interface StackQueries {
    /** Ranks, time range and threads of what is shown. */
    selected: QueryParams;
    /** The recording of the baseline, and its query. */
    baseline: { recording: number; params: QueryParams } | undefined;
    /** Whether the stored answers cover more than the selection. */
    coversMore: boolean;
}

/** The queries for a selection. A file only has answers for the whole run, and for single ranks. */
export function stackQueries(current: Selection, recording: number, rankCount: number, baseline: Baseline, isLive: boolean): StackQueries {
    const { from, to, ranks, viewParams } = current;
    const window: QueryParams = isLive ? { from, to } : {};
    const threads = isLive ? viewParams.threads : undefined;
    const others = baseline && 'ranks' in baseline ? otherRanks(baseline.ranks, rankCount) : undefined;
    const wanted = ranks ?? others;
    const isStored = isLive || wanted === undefined || /^\d+$/.test(wanted);
    const selected = { ...window, ranks: isStored ? wanted : undefined, threads };
    const coversMore = !isLive && (from !== undefined || !isStored);
    if (!baseline) return { selected, baseline: undefined, coversMore };
    const compared =
        'ranks' in baseline ? { recording, params: { ...window, ranks: baseline.ranks, threads } } : { recording: baseline.recording, params: {} };
    return { selected, baseline: compared, coversMore };
}

/** All ranks but these; undefined if there are no others. */
function otherRanks(ranks: string, rankCount: number): string | undefined {
    const base = new Set(parseRanks(ranks, rankCount));
    const others = Array.from({ length: rankCount }, (_, rank) => rank).filter((rank) => !base.has(rank));
    return others.length === 0 ? undefined : formatRanks(others);
}
