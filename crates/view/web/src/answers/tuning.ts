// The log of a tuning: `NAME.sin/tuning.jsonl`.

export interface Tuning {
    entries: Entry[];
    /** Whether the program still runs. */
    live: boolean;
    /** When the tuning began, in nanoseconds of the timeline, where that is known. */
    began_ns: number | null;
}

export type Entry =
    | { kind: 'began'; time_s: number; since_1970_s: number }
    | ({ kind: 'change' } & Decision)
    | { kind: 'finding'; time_s: number; tunlet: string; what: string }
    | { kind: 'figures'; time_s: number; tunlet: string; figures: Told[] }
    | { kind: 'problem'; time_s: number; what: string };

export interface Decision {
    time_s: number;
    tunlet: string;
    /** What was changed: a variable's name, mostly. */
    action: string;
    rank: number | null;
    old: number | null;
    new: number;
    why: string;
    /** Why it was not done. */
    refused?: string;
}

/** Something that a tunlet knew. */
export interface Told {
    name: string;
    value: number;
    unit: string;
}
