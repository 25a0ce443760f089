// Answer `replay`: the output of `sintonia replay --json`. See docs/replay.md.

import type { Estimate } from './estimate';

export interface ReplayResult {
    recording: string;
    /** From the end of MPI_Init to MPI_Finalize. */
    measured_s: number | null;
    seconds: Estimate;
    ranks: number;
    calls: number;
    per_rank: RankReplay[];
    call_sites: CallSiteReplay[];
    unmatched: number;
    /** The machine replayed on; absent if the recorded network was used. */
    machine?: string;
    /** Time without the what-if changes. */
    unchanged_s?: number;
    /** Parameters estimated for the recorded network. */
    recorded_network?: { latency_s: number; s_per_byte: number };
    notes?: string[];
}

export interface RankReplay {
    rank: number;
    recorded_s: number | null;
    replayed_s: number;
}

/** MPI time, summed over all ranks. */
export interface CallSiteReplay {
    place: string;
    operation: string;
    calls: number;
    recorded_s: number | null;
    replayed_s: number;
}
