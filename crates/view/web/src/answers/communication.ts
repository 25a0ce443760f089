// Answer `communication`: traffic between pairs of ranks, hosts or roles.

/** One entry per pair with traffic, most bytes first. */
export interface PairColumns {
    from: number[];
    to: number[];
    bytes: number[];
    messages: number[];
    /** Time in the calls that sent or received these messages; null if unknown. */
    seconds: number[] | null;
}

/** Pairs are indices of labels. */
export interface CommunicationMatrix extends PairColumns {
    labels: string[];
    /** Ranks of each label, as in `0-3,7`. */
    ranks: string[];
    /** Pairs of ranks with most bytes, where a label is several ranks. */
    heaviest?: PairColumns;
    /** What is not counted, as sentences. */
    left_out?: string[];
}
