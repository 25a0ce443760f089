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
    // An address may have been written by hand.
    const ranks = validRanks(current.ranks, rankCount);
    const window = validWindow(current);
    const threads = isLive ? validRanks(current.viewParams.threads, MAX_THREADS) : undefined;
    const baseRanks = baseline && 'ranks' in baseline ? validRanks(baseline.ranks, rankCount) : undefined;
    const others = baseRanks === undefined ? undefined : otherRanks(baseRanks, rankCount);
    const wanted = ranks ?? others;
    const isStored = isLive || wanted === undefined || /^\d+$/.test(wanted);
    const times = isLive ? window : {};
    const selected = { ...times, ranks: isStored ? wanted : undefined, threads };
    const coversMore = !isLive && (window.from !== undefined || !isStored);
    if (!baseline) return { selected, baseline: undefined, coversMore };
    const compared =
        'ranks' in baseline ? { recording, params: { ...times, ranks: baseRanks, threads } } : { recording: baseline.recording, params: {} };
    return { selected, baseline: compared, coversMore };
}

/** Threads are numbered with 16 bits. */
const MAX_THREADS = 65_536;

/** Those of the numbers that exist, as in queries; undefined if there are none. */
const validRanks = (text: string | undefined, size: number): string | undefined => formatRanks(parseRanks(text ?? '', size)) || undefined;

/** The time range in whole nanoseconds. */
function validWindow({ from, to }: Selection): { from?: number; to?: number } {
    const [first, last] = [Math.round(from ?? Number.NaN), Math.round(to ?? Number.NaN)];
    return Number.isSafeInteger(first) && Number.isSafeInteger(last) && first < last ? { from: first, to: last } : {};
}

/** All ranks but these; undefined if there are no others. */
function otherRanks(ranks: string, rankCount: number): string | undefined {
    const base = new Set(parseRanks(ranks, rankCount));
    const others = Array.from({ length: rankCount }, (_, rank) => rank).filter((rank) => !base.has(rank));
    return others.length === 0 ? undefined : formatRanks(others);
}
