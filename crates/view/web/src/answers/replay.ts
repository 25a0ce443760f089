// What `sintonia replay --json` shows: docs/replay.md.

import type { Figures } from './figure';

export interface Replayed {
    recording: string;
    /** From the end of MPI_Init to MPI_Finalize. */
    measured_s: number | null;
    seconds: Figures;
    ranks: number;
    calls: number;
    per_rank: RankReplayed[];
    call_sites: SiteReplayed[];
    unmatched: number;
    /** The machine that it was replayed on; without one, the network as it was recorded. */
    machine?: string;
    /** The same without what is different. */
    unchanged_s?: number;
    /** What the recorded network seems to be like. */
    recorded_network?: { latency_s: number; s_per_byte: number };
    notes?: string[];
}

export interface RankReplayed {
    rank: number;
    recorded_s: number | null;
    replayed_s: number;
}

/** Time in MPI of all ranks together. */
export interface SiteReplayed {
    place: string;
    operation: string;
    calls: number;
    recorded_s: number | null;
    replayed_s: number;
}
