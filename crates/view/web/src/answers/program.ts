// Answer `program`: the parts of `sintonia graph --program --json` that the page shows. See docs/graph.md.

import type { SourceLocation } from './about';

export interface ProgramGraph {
    ranks: number;
    nodes: (SourceLocation & { operation: string; does: string; stage: string })[];
    roles: ProgramRole[];
    messages: { from: RoleNode; to: RoleNode; messages: number; bytes: number }[];
    phases: ProgramPhase[];
}

export interface RoleNode {
    role: number;
    node: number;
}

export interface ProgramRole {
    name: string;
    ranks: number[];
    /** Sum over its ranks. */
    elapsed_s: number;
    nodes: { node: number; count: number; total_s: number }[];
    segments: { from: number; to: number; count: number; total_s: number }[];
}

export interface ProgramPhase {
    name: string;
    parent: number | null;
    repeats: boolean;
    nodes: number[];
    ranks: RankPhase[];
}

/** Time of a rank in a phase, in seconds since the recording began. */
export interface RankPhase {
    rank: number;
    begin_s: number;
    end_s: number;
    elapsed_s: number;
    outside_s: number;
    calls: number;
}

/** Answer `drawing`: the program graph with some of its functions and loops folded. */
export interface FoldedDrawing {
    svg: string;
    /** The scopes that are open. */
    open?: number[];
    /** The depth of each scope; 1 for the outermost ones. */
    depths?: number[];
    /** The depth that fits on a screen. */
    default_depth?: number;
}
