// The part `openmp` of the answer `report`: the threads of OpenMP. See docs/report.md.

import type { SourceLocation } from './about';

export interface OpenMpReport {
    max_threads: number;
    efficiency: HybridEfficiency | null;
    additive: AdditiveEfficiency | null;
    /** Most time first. */
    waits: ThreadWait[];
    /** Most time first. */
    regions: RegionTotals[];
    per_rank: RankThreads[];
}

/** POP's efficiencies that multiply, as shares. */
export interface HybridEfficiency {
    parallel: number;
    mpi: number;
    mpi_load_balance: number;
    mpi_communication: number;
    openmp: number;
    openmp_load_balance: number;
    openmp_communication: number;
}

/** POP's efficiencies whose losses add up. */
export interface AdditiveEfficiency {
    process: number;
    region_load_balance: number;
    region_overhead: number;
    serial: number;
}

/** A wait state of threads; seconds of all threads, and their share of all time of threads. */
export interface ThreadWait {
    kind: string;
    name: string;
    seconds: number;
    share: number;
}

/** All executions of a region. Seconds of the region are summed over ranks, the others over threads. */
export interface RegionTotals extends SourceLocation {
    /** Number of regions around it. */
    level: number;
    executions: number;
    threads: number;
    seconds: number;
    useful_s: number;
    load_balance: number;
    barrier_s: number;
    end_s: number;
    lock_s: number;
    overhead_s: number;
    mpi_s: number;
}

export interface RankThreads {
    rank: number;
    threads: number;
    outside_s: number;
    region_s: number;
    serial_s: number;
    serial_share: number;
    /** By thread. */
    useful_s: number[];
    barrier_s: number;
    lock_s: number;
    idle_s: number;
    overhead_s: number;
}
