// What `sintonia report --json` shows, as far as the page does: docs/report.md explains each figure.

import type { Site } from './about';

export interface Report {
    command: string[];
    exit_status: number | null;
    parameters: Record<string, string | number>;
    profile: boolean;
    ranks: number;
    hosts: string[];
    mpi: { library: string; version: string; abi: string };
    elapsed_s: number;
    work_s: number;
    calls: number;
    efficiency: Efficiency | null;
    mpi_s: Spread;
    outside_s: Spread;
    per_rank: RankTime[];
    operations: OperationTime[];
    call_sites: CallSite[];
    sizes: { up_to: number; messages: number; bytes: number }[];
    unmatched: number;
    unfinished: (Site & { rank: number; operation: string })[];
    incomplete: { rank: number; why: string }[];
    not_recorded: string[];
    clock_error_s: number;
    clock_repair: { violations: number; largest_s: number };
    ideal_s: number | null;
    phases: PhaseEfficiency[];
    wait_states: WaitState[];
    root_causes: RootCause[];
    critical_path: CriticalPath | null;
    advice: Advice[];
}

/** Shares from 0 to 1; the last two are not known of a profile. */
export interface Efficiency {
    parallel: number;
    load_balance: number;
    communication: number;
    serialisation: number | null;
    transfer: number | null;
}

export interface Spread {
    min: number;
    mean: number;
    max: number;
    imbalance: number;
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

export type CallSite = Site & OperationTime;

export interface PhaseEfficiency {
    name: string;
    part_of: number | null;
    repeats: boolean;
    ranks: number;
    seconds: number;
    efficiency: Efficiency | null;
}

export interface WaitState extends Site {
    kind: string;
    name: string;
    operation: string;
    /** Of all ranks together. */
    seconds: number;
    waits: number;
    longest_s: number;
    ranks: number[];
    /** Longest first. */
    waited_for: number[];
}

/** Computation between two places that made others wait. */
export interface RootCause {
    from: Site;
    to: Site;
    seconds: number;
    passed_on_s: number;
    ranks: number[];
}

export interface CriticalPath {
    seconds: number;
    jumps: number;
    segments: { from: Site; to: Site; seconds: number; imbalance_s: number }[];
    calls: (Site & { seconds: number })[];
    ranks: [rank: number, seconds: number][];
}

export interface Advice extends Site {
    kind: string;
    what: string;
    evidence: string;
    try_this: string;
    saves_s: number;
    basis: string;
}

/** The time of all ranks together, in seconds; never nothing, so that shares of it can be told. */
export const allSeconds = ({ per_rank }: Report): number =>
    Math.max(per_rank.reduce((sum, { mpi_s, outside_s }) => sum + mpi_s + outside_s, 0), Number.MIN_VALUE);
