// What `sintonia report A B --json` shows.

import type { Efficiency } from './report';

export interface Comparison {
    growth: 'strong' | 'weak';
    runs: Scaled[];
}

/** A run beside the first one. */
export interface Scaled {
    recording: string;
    ranks: number;
    /** Between MPI_Init and MPI_Finalize. */
    work_s: number;
    speedup: number;
    efficiency: Efficiency | null;
    computation_scalability: number | null;
    global: number | null;
}
