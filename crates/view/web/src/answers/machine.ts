// Answer `machine`: the parts of `sintonia bench --json` that the page shows. See docs/machine.md.

import type { Estimate } from './estimate';

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
    nodes: NodeKind[];
    networks: Record<string, Network>;
    groups: Record<string, { growth: string; at: (TimingModel & { processes: number })[] }>;
    topology: Topology | null;
}

export interface NodeKind {
    kind: string;
    count: number;
    cores: number;
    /** By data type, then by operation. */
    compute: Record<string, Record<string, { latency_s: Estimate; throughput_s: Estimate }>>;
    memory: ({ level: string; size_bytes: number | null } & Record<string, Estimate | string | number | null>)[];
}

export interface Network {
    eager_bytes: number | null;
    overlap: { bytes: number; share: Estimate }[];
    messages: Record<string, TimingModel>;
}

/** Piecewise linear cost of an operation over the message size. */
export interface TimingModel {
    formula: string;
    from_bytes: number;
    pieces: TimingPiece[];
    measured: MeasurementSummary | null;
    /** Measured points: bytes and median seconds. Empty if they were not kept. */
    medians: [number, number][];
}

export interface TimingPiece {
    /** Null for the last piece, which is unbounded. */
    up_to_bytes: Estimate | null;
    intercept_s: Estimate;
    slope_s_per_byte: Estimate;
}

export interface MeasurementSummary {
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
    link: { bytes_per_s: Estimate; latency_s: Estimate };
    duplex: string;
    sharing: string;
}
