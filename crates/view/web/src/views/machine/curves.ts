// What an operation takes over the size of its message: points along straight lines, close enough to look right on a scale of factors.

import type { Piece, Timing } from '../../answers/machine';

export interface Place {
    bytes: number;
    low: number;
    middle: number;
    high: number;
}

const PER_DOUBLING = 4;
/** Empty messages have no place on a scale of factors: they are drawn here. */
export const EMPTY = 0.5;
/** Times below this are not drawn: lines may begin below nothing. */
const LEAST_S = 1e-10;

/** Places of a timing up to a size, piece by piece; between pieces there is a gap. */
export function places({ pieces, from_bytes: from, measured }: Timing, most: number): Place[] {
    const end = Math.max(most, measured?.bytes[1] ?? 0);
    const found: Place[] = [];
    let begin = from;
    for (const piece of pieces) {
        const last = Math.min(piece.up_to_bytes?.[1] ?? end, end);
        for (let bytes = Math.max(begin, EMPTY); bytes < last; bytes *= 2 ** (1 / PER_DOUBLING)) found.push(at(piece, bytes));
        if (last >= begin) found.push(at(piece, Math.max(last, EMPTY)));
        found.push({ bytes: NaN, low: NaN, middle: NaN, high: NaN });
        begin = last;
    }
    return found;
}

function at({ intercept_s: intercept, slope_s_per_byte: slope }: Piece, bytes: number): Place {
    const size = bytes <= EMPTY ? 0 : bytes;
    const at = (end: 0 | 1 | 2) => Math.max(LEAST_S, intercept[end] + slope[end] * size);
    const [low, middle, high] = [at(0), at(1), at(2)];
    return { bytes, low: Math.min(low, middle), middle, high: Math.max(high, middle) };
}

/** The ends of pieces: sizes at which something changes. */
export const ends = ({ pieces }: Timing): number[] => pieces.flatMap(({ up_to_bytes: end }) => (end ? [end[1]] : []));
