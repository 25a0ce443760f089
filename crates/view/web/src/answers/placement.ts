// What `sintonia place --json` shows (docs/place.md), and what a picture of it needs.

import type { Figures } from './figure';

export interface Placement {
    cost: { now: number; placed: number };
    objective: string;
    /** The share of the time that is saved. */
    gain: Figures;
    /** Why a placement does not help, if it does not. */
    useless: string | null;
    /** What came of it, in a sentence. */
    verdict: string;
    candidates: Candidate[];
    command: string[] | null;
    environment: [name: string, value: string][];
    notes: string[];
    hosts: Host[];
    /** The slot of each rank; slots are numbered through all hosts in order. */
    slots: { now: number[]; placed: number[] };
    links: { used: number; is_known: boolean; busiest: Link[] };
    /** The file for the launcher. */
    sheet: { name: string; text: string; refused: string | null };
}

export interface Candidate {
    name: string;
    busiest_link_s: number;
    byte_distance: number;
    across_bytes: number;
    imbalance: number;
    seconds: Figures | null;
}

export interface Host {
    name: string;
    slots: number;
    slots_per_socket: number;
    slots_per_complex: number;
    /** What it shares with hosts that are near. */
    group: string | null;
}

/** A link, with its load now and placed. */
export interface Link {
    name: string;
    bytes: [now: number, placed: number];
    seconds: [now: number, placed: number];
}
