// Who sent how much to whom.

export interface Communication {
    labels: string[];
    /** The ranks of each label, as in `0-3,7`. */
    ranks: string[];
    /** One entry for each pair of labels that exchanged something. */
    from: number[];
    to: number[];
    bytes: number[];
    messages: number[];
    /** Time in the calls that sent or received these messages, where it is known. */
    seconds: number[] | null;
    /** What is not counted, in sentences. */
    left_out?: string[];
}
