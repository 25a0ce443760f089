// Answer `placement`: the output of `sintonia place --json` (docs/place.md), and what the chart needs.

import type { Estimate } from './estimate';

export interface Placement {
    cost: { now: number; placed: number };
    objective: string;
    /** Share of the time saved. */
    gain: Estimate;
    /** Why the placement does not help; null if it does. */
    useless: string | null;
    /** The result in one sentence. */
    verdict: string;
    candidates: PlacementCandidate[];
    command: string[] | null;
    environment: [name: string, value: string][];
    notes: string[];
    hosts: PlacementHost[];
    /** Slot of each rank. Slots are numbered consecutively over all hosts. */
    slots: { now: number[]; placed: number[] };
    links: { used: number; is_known: boolean; busiest: LinkLoad[] };
    /** Input file for the launcher. */
    sheet: { name: string; text: string; refused: string | null };
}

export interface PlacementCandidate {
    name: string;
    busiest_link_s: number;
    byte_distance: number;
    across_bytes: number;
    imbalance: number;
    seconds: Estimate | null;
}

export interface PlacementHost {
    name: string;
    slots: number;
    slots_per_socket: number;
    slots_per_complex: number;
    /** What nearby hosts share with this one, such as a switch. */
    group: string | null;
}

/** Load of a link, before and after. */
export interface LinkLoad {
    name: string;
    bytes: [now: number, placed: number];
    seconds: [now: number, placed: number];
}
