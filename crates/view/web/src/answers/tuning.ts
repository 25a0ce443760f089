// Answer `tuning`: the log `NAME.sin/tuning.jsonl`.

export interface TuningLog {
    entries: TuningEntry[];
    /** Whether the program is still running. */
    live: boolean;
    /** Start of the tuning on the timeline, in nanoseconds; null if unknown. */
    began_ns: number | null;
}

export type TuningEntry =
    | { kind: 'began'; time_s: number; since_1970_s: number }
    | ({ kind: 'change' } & TuningDecision)
    | { kind: 'verdict'; time_s: number; tunlet: string; result: 'pays' | 'no_gain' | 'harms' | 'undecided'; what: string }
    | { kind: 'finding'; time_s: number; tunlet: string; what: string }
    | { kind: 'figures'; time_s: number; tunlet: string; figures: TuningMetric[] }
    | { kind: 'problem'; time_s: number; what: string };

export interface TuningDecision {
    time_s: number;
    tunlet: string;
    /** What was changed, usually a variable. */
    action: string;
    rank: number | null;
    old: number | null;
    new: number;
    why: string;
    /** Why the change was not carried out. */
    refused?: string;
    /** Whether it is one turn of a comparison with the initial values. */
    turn?: boolean;
}

/** A value that a tunlet measured. */
export interface TuningMetric {
    name: string;
    value: number;
    unit: string;
}
