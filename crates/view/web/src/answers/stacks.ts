// Answers `stacks` and `lines`: processor time of functions and of source lines, from samples.

export type ModuleKind = 'program' | 'library' | 'mpi' | 'kernel';

export interface StackFunction {
    name: string;
    /** Without parameters and template arguments, if that differs. */
    short_name?: string;
    /** The source file, with debug information. */
    file: string | null;
    /** The executable or library. */
    module: string;
    kind: ModuleKind;
}

/** The call tree of a selection. Times are in nanoseconds. */
export interface StackAnswer {
    samples: number;
    /** Samples whose stack goes on above its outermost frame. */
    truncated: number;
    /** Ranks and threads with samples in the selection. */
    ranks: number;
    threads: number;
    /** The highest number of a thread in the recording. */
    last_thread: number;
    /** What the samples of the selected ranks do not tell. */
    not_recorded: string[];
    /** All functions of the recording: an index is the same in every answer. */
    functions: StackFunction[];
    /** Columns of equal length; each node is after its caller. */
    nodes: StackNodes;
}

export interface StackNodes {
    /** Index of the caller, or -1. */
    caller: number[];
    function: number[];
    /** With `lines=1`; 0 if it is not known. */
    line?: number[];
    /** Time in the function itself; MPI calls and `[kernel]` are nodes of their own. */
    self: number[];
    /** Time in the function and in what it called, by activity. */
    computation: number[];
    kernel: number[];
    mpi: number[];
}

/** The lines of the source file of a function. */
export interface LineAnswer {
    name: string;
    file: string;
    /** The line of the function with the most time. */
    hottest: number;
    times: {
        line: number[];
        self: number[];
        /** With what the line called. */
        total: number[];
        /** Whether the line is of the function. */
        is_function: boolean[];
    };
    /** An excerpt, or why it cannot be shown; null if it is not included in a file. */
    text: { first: number; lines: string[] } | { why: string } | null;
}
