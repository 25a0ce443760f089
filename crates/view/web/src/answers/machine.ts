// A machine file, as `sintonia bench --json` shows it and as far as the page does: docs/machine.md.

import type { Figures } from './figure';

export interface Machine {
    name: string;
    date: string | null;
    source: string | null;
    mpi: string | null;
    launcher: string[];
    processes: number | null;
    oversubscribed: boolean;
    confidence: number | null;
    notes: string[];
    nodes: Node[];
    networks: Record<string, Network>;
    groups: Record<string, { growth: string; at: (Timing & { processes: number })[] }>;
    topology: Topology | null;
}

export interface Node {
    kind: string;
    count: number;
    cores: number;
    /** By type of number, then by operation. */
    compute: Record<string, Record<string, { latency_s: Figures; throughput_s: Figures }>>;
    memory: ({ level: string; size_bytes: number | null } & Record<string, Figures | string | number | null>)[];
}

export interface Network {
    eager_bytes: number | null;
    overlap: { bytes: number; share: Figures }[];
    messages: Record<string, Timing>;
}

/** What an operation takes: straight lines, each for a range of sizes. */
export interface Timing {
    formula: string;
    from_bytes: number;
    pieces: Piece[];
    measured: Measured | null;
    /** What was measured: bytes and the median of the seconds that they took; empty if that was not kept. */
    medians: [number, number][];
}

export interface Piece {
    /** The last one goes on. */
    up_to_bytes: Figures | null;
    intercept_s: Figures;
    slope_s_per_byte: Figures;
}

export interface Measured {
    bytes: [number, number];
    sizes: number;
    samples: number;
    outliers: number;
    mean_error_percent: number;
    worst_error_percent: number;
}

export interface Topology {
    kind: string;
    nodes: number | null;
    size: string;
    link: { bytes_per_s: Figures; latency_s: Figures };
    duplex: string;
    sharing: string;
}
