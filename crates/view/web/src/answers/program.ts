// What `sintonia graph --program` writes as JSON, as far as the page shows it: docs/graph.md explains all of it.

import type { Site } from './about';

export interface Program {
    ranks: number;
    nodes: (Site & { operation: string; does: string; stage: string })[];
    roles: Role[];
    messages: { from: RoleNode; to: RoleNode; messages: number; bytes: number }[];
    phases: Phase[];
}

export interface RoleNode {
    role: number;
    node: number;
}

export interface Role {
    name: string;
    ranks: number[];
    /** Of all its ranks together. */
    elapsed_s: number;
    nodes: { node: number; count: number; total_s: number }[];
    segments: { from: number; to: number; count: number; total_s: number }[];
}

export interface Phase {
    name: string;
    parent: number | null;
    repeats: boolean;
    nodes: number[];
    ranks: PhaseOfRank[];
}

/** When a rank was in a phase, in seconds since the recording began. */
export interface PhaseOfRank {
    rank: number;
    begin_s: number;
    end_s: number;
    elapsed_s: number;
    outside_s: number;
    calls: number;
}
