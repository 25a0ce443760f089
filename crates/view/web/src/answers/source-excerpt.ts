// Answer `source`: the source code around a call site.

export interface SourceExcerpt {
    file: string;
    /** Line number of the first of these lines. */
    first: number;
    lines: string[];
    /** Line of the call site. */
    line: number;
}
