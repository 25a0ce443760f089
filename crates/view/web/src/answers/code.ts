// The source around a call site.

export interface Code {
    file: string;
    /** The number of the first of these lines. */
    first: number;
    lines: string[];
    /** The line of the call site. */
    line: number;
}
