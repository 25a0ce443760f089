// The part `counters` of the answer `report`: what was counted in the computation. See docs/report.md.

import type { SourceLocation } from './about';

export interface CounterReport {
    /** The order of all values. */
    counters: { name: string; unit?: string; is_sum: boolean }[];
    counted_s: number;
    /** Of the computation. */
    share: number;
    total: CounterValues;
    ranks: ({ rank: number; counted_s: number } & CounterValues)[];
    segments: ({ from: SourceLocation; to: SourceLocation; counted_s: number } & CounterValues)[];
    functions?: ({ function: string; file: string | null; counted_s: number } & CounterValues)[];
}

export interface CounterValues {
    values: number[];
    /** Instructions per cycle. */
    ipc?: number;
    /** Cycles per nanosecond of computation. */
    ghz?: number;
}
