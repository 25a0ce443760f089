// Sums of the selection: at once, and with wait states as soon as these are known.

import { answerSource, type QueryParams } from '../answers/answer-source';
import type { Sums } from '../answers/sums';
import { formatRanks, parseRanks } from '../ranks';
import type { Selection } from './address';
import { type QueryState, useQuery } from './use-query';

/** The parameters of a query about the selected time and ranks; undefined if neither is selected. */
export function selectedPart({ from, to, ranks }: Selection, rankCount: number): QueryParams | undefined {
    // An address may have been written by hand.
    const known = formatRanks(parseRanks(ranks ?? '', rankCount)) || undefined;
    const [first, last] = [Math.round(from ?? Number.NaN), Math.round(to ?? Number.NaN)];
    const window = Number.isSafeInteger(first) && Number.isSafeInteger(last) && first < last ? { from: first, to: last } : {};
    return known === undefined && window.from === undefined ? undefined : { ...window, ranks: known };
}

/** Whether sums of selections can be had: a file has only those of the whole run, and a profile has no times. */
export const hasSums = (recording: { profile: boolean }): boolean => answerSource.isLive && !recording.profile;

export function useSums(recording: number, part: QueryParams): QueryState<Sums> {
    const quick = useQuery<Sums>(recording, 'sums', part);
    const complete = useQuery<Sums>(recording, 'sums', { ...part, waits: 1 });
    return complete.state === 'answered' ? complete : quick;
}
