// Answer `comparison`: the output of `sintonia report A B --json`.

import type { Efficiency } from './report';

export interface Comparison {
    growth: 'strong' | 'weak';
    runs: ComparedRun[];
}

/** A run compared with the first one. */
export interface ComparedRun {
    recording: string;
    ranks: number;
    /** Between MPI_Init and MPI_Finalize. */
    work_s: number;
    speedup: number;
    efficiency: Efficiency | null;
    computation_scalability: number | null;
    global: number | null;
    /** Whether its ranks had too few cores, in one sentence. */
    no_core: string | null;
}
