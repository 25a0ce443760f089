// Answer `report`: the parts of `sintonia report --json` that the page shows. See docs/report.md.

import type { SourceLocation } from './about';
import type { CounterReport } from './counters';
import type { FileUse } from './files';
import type { OpenMpReport } from './openmp';

export interface Report {
    command: string[];
    exit_status: number | null;
    parameters: Record<string, string | number>;
    profile: boolean;
    ranks: number;
    hosts: string[];
    /** In the order of `hosts`; empty if the recording does not describe them. */
    host_descriptions: HostDescription[];
    resources: RankResources[];
    mpi: { library: string; version: string; abi: string };
    elapsed_s: number;
    work_s: number;
    calls: number;
    efficiency: Efficiency | null;
    /** Absent if each rank has one thread that calls MPI. */
    threads?: ThreadSummary;
    /** Absent without OpenMP. */
    openmp?: OpenMpReport;
    mpi_s: Spread;
    outside_s: Spread;
    cores: Cores;
    per_rank: RankTime[];
    operations: OperationTime[];
    call_sites: CallSite[];
    sizes: { up_to: number; messages: number; bytes: number }[];
    unmatched: number;
    unfinished: (SourceLocation & { rank: number; operation: string })[];
    left_calls: number;
    incomplete: { rank: number; why: string }[];
    not_recorded: string[];
    clock_error_s: number;
    clock_repair: { violations: number; largest_s: number };
    ideal_s: number | null;
    phases: PhaseEfficiency[];
    wait_states: WaitState[];
    root_causes: RootCause[];
    /** Only if ranks made others wait because they had no core. */
    core_delays?: CoreDelay[];
    critical_path: CriticalPath | null;
    advice: Advice[];
    /** Most time first; absent if there are none. */
    files?: FileUse[];
    counters?: CounterReport;
}

/** What the host does not say is missing. */
export interface HostDescription {
    name: string;
    /** Ranges, as in `0-7`. */
    processors: string;
    cores?: number;
    sockets?: number;
    numa_nodes?: number;
    /** Processors that share a core, one entry for each core; missing without SMT. */
    smt_siblings?: string[];
    cpu_model?: string;
    base_mhz?: number;
    current_mhz?: number;
    kernel?: string;
    memory_bytes?: number;
    /** Over one, five and fifteen minutes. */
    load_at_start?: number[];
    load_at_end?: number[];
}

export interface RankResources {
    rank: number;
    limits?: ProcessLimits;
    threads: ThreadUsage[];
}

/** Limits of a control group. */
export interface ProcessLimits {
    /** In processors. */
    cpu_quota?: number;
    cpu_quota_group?: string;
    throttled_ns?: number;
    memory_bytes?: number;
}

/** The parts that the page shows. */
export interface ThreadUsage {
    thread: number;
    affinity: string;
    affinity_at_end?: string;
}

/** Shares from 0 to 1. The last two are unknown for a profile. */
export interface Efficiency {
    parallel: number;
    load_balance: number;
    communication: number;
    serialisation: number | null;
    transfer: number | null;
}

/** The threads that call MPI, over all ranks. */
export interface ThreadSummary {
    threads: number;
    min_per_rank: number;
    max_per_rank: number;
    active_s: number;
    main_only: boolean;
    blocked_known: boolean;
    communication_threads: number;
    communication_share: number;
    efficiency_without: Efficiency | null;
    per_thread: ThreadTime[];
}

export interface ThreadTime {
    rank: number;
    thread: number;
    main: boolean;
    active_s: number;
    mpi_s: number;
    outside_s: number;
    blocked_s: number;
    blocked_known: boolean;
    only_communicates: boolean;
    calls: number;
}

export interface Spread {
    min: number;
    mean: number;
    max: number;
    imbalance: number;
}

/** Whether the ranks had cores to run on. */
export interface Cores {
    basis: 'measured' | 'inferred' | 'unknown';
    share: number | null;
    /** Only if they had too few. */
    statement: string | null;
    split: CoreTimes | null;
    per_rank: (Partial<CoreTimes> & { rank: number; elapsed_s: number; no_core_s: number })[];
    held_back: number;
}

/** Seconds between MPI_Init and MPI_Finalize. */
export interface CoreTimes {
    computing_s: number;
    preempted_s: number;
    message_s: number;
    mpi_no_core_s: number;
}

export interface RankTime {
    rank: number;
    host: string;
    mpi_s: number;
    outside_s: number;
    init_s: number;
    finalize_s: number;
    calls: number;
}

export interface OperationTime {
    operation: string;
    calls: number;
    seconds: number;
    bytes: number;
}

export type CallSite = SourceLocation & OperationTime;

export interface PhaseEfficiency {
    name: string;
    part_of: number | null;
    repeats: boolean;
    ranks: number;
    seconds: number;
    /** Share of its ranks' time, if it is known when they had no core. */
    no_core?: number;
    efficiency: Efficiency | null;
}

export interface WaitState extends SourceLocation {
    kind: string;
    name: string;
    operation: string;
    /** Sum over all ranks. */
    seconds: number;
    waits: number;
    longest_s: number;
    /** The part in which the awaited threads had no core. */
    no_core_s: number;
    ranks: number[];
    /** Longest first. */
    waited_for: number[];
}

/** Computation between two call sites that delayed other ranks. */
export interface RootCause {
    from: SourceLocation;
    to: SourceLocation;
    seconds: number;
    passed_on_s: number;
    ranks: number[];
}

/** A rank that waited for a core and delayed other ranks. */
export interface CoreDelay {
    rank: number;
    seconds: number;
    passed_on_s: number;
    in_mpi_s: number;
}

export interface CriticalPath {
    seconds: number;
    /** Of it without a core, if that is known; the same in its parts. */
    no_core_s?: number;
    jumps: number;
    segments: { from: SourceLocation; to: SourceLocation; seconds: number; no_core_s?: number; imbalance_s: number }[];
    calls: (SourceLocation & { seconds: number; no_core_s?: number })[];
    ranks: [rank: number, seconds: number][];
}

export interface Advice extends SourceLocation {
    kind: string;
    what: string;
    evidence: string;
    try_this: string;
    /** What it most likely saves after the changes before it. Unknown if it cannot be estimated. */
    saves_s: number | null;
    /** The same under cautious assumptions about what was not recorded; known with `saves_s`. */
    saves_low_s: number | null;
    /** The same under favourable assumptions; known with `saves_s`. */
    saves_high_s: number | null;
    /** What it saves together with the changes before it. Unknown if that was not replayed. */
    together_s: number | null;
    basis: string;
}

/** Time summed over all ranks and their threads, in seconds. Never zero, so it can be a divisor. */
export const totalRankSeconds = ({ per_rank, threads }: Pick<Report, 'per_rank' | 'threads'>): number =>
    Math.max(threads?.active_s ?? per_rank.reduce((sum, { mpi_s, outside_s }) => sum + mpi_s + outside_s, 0), Number.MIN_VALUE);
