// Timing models sampled as points, dense enough for a logarithmic axis.

import type { TimingModel, TimingPiece } from '../../answers/machine';

export interface CurvePoint {
    bytes: number;
    low: number;
    middle: number;
    high: number;
}

const POINTS_PER_DOUBLING = 4;
/** Where empty messages are drawn on the logarithmic axis. */
export const EMPTY_MESSAGE_X = 0.5;
/** Lower bound for drawing, because an intercept may be negative. */
const MIN_SECONDS = 1e-10;

/** Points of a timing model up to a size, with a gap between pieces. */
export function curvePoints({ pieces, from_bytes: from, measured }: TimingModel, max: number): CurvePoint[] {
    const end = Math.max(max, measured?.bytes[1] ?? 0);
    const found: CurvePoint[] = [];
    let begin = from;
    for (const piece of pieces) {
        const last = Math.min(piece.up_to_bytes?.[1] ?? end, end);
        for (let bytes = Math.max(begin, EMPTY_MESSAGE_X); bytes < last; bytes *= 2 ** (1 / POINTS_PER_DOUBLING)) found.push(pointAt(piece, bytes));
        if (last >= begin) found.push(pointAt(piece, Math.max(last, EMPTY_MESSAGE_X)));
        found.push({ bytes: NaN, low: NaN, middle: NaN, high: NaN });
        begin = last;
    }
    return found;
}

function pointAt({ intercept_s: intercept, slope_s_per_byte: slope }: TimingPiece, bytes: number): CurvePoint {
    const size = bytes <= EMPTY_MESSAGE_X ? 0 : bytes;
    const at = (end: 0 | 1 | 2) => Math.max(MIN_SECONDS, intercept[end] + slope[end] * size);
    const [low, middle, high] = [at(0), at(1), at(2)];
    return { bytes, low: Math.min(low, middle), middle, high: Math.max(high, middle) };
}

/** Sizes at which the model changes from one piece to the next. */
export const breakpoints = ({ pieces }: TimingModel): number[] => pieces.flatMap(({ up_to_bytes: end }) => (end ? [end[1]] : []));
