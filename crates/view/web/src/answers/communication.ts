// Answer `communication`: traffic between pairs of ranks, hosts or roles.

export interface CommunicationMatrix {
    labels: string[];
    /** Ranks of each label, as in `0-3,7`. */
    ranks: string[];
    /** One entry per pair of labels with traffic. */
    from: number[];
    to: number[];
    bytes: number[];
    messages: number[];
    /** Time in the calls that sent or received these messages; null if unknown. */
    seconds: number[] | null;
    /** What is not counted, as sentences. */
    left_out?: string[];
}
