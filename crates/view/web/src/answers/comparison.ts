// Answer `comparison`: the output of `sintonia report A B --json`.

import type { Efficiency } from './report';

export interface Comparison {
    growth: 'strong' | 'weak';
    runs: ComparedRun[];
    /** Null if no run can be compared with the first. */
    parts: ComparedParts | null;
}

export interface ComparedParts {
    base: 'mean_of_ranks' | 'all_ranks';
    /** Largest change first. */
    changes: ChangedPart[];
}

/** A part of the program that takes longer or shorter than in the first run. */
export interface ChangedPart {
    kind: 'computation' | 'communication';
    name: string;
    /** In each run; null where it was not executed, and in runs that cannot be compared. */
    seconds: (number | null)[];
    /** By how much it differs most from the first run. */
    change_s: number;
}

/** A run compared with the first one. */
export interface ComparedRun {
    recording: string;
    ranks: number;
    /** Between MPI_Init and MPI_Finalize. */
    work_s: number;
    speedup: number | null;
    efficiency: Efficiency | null;
    computation_scalability: number | null;
    /** Its parts, where instructions and cycles were counted. */
    computation?: { instructions: number; ipc: number; frequency: number };
    global: number | null;
    /** What cannot be compared with the first run, and why. */
    differences?: string[];
    /** Whether its ranks had too few cores, in one sentence. */
    no_core: string | null;
}
