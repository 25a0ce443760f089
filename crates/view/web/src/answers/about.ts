// Answer `about`: the open recordings and the subjects available. Queried first.

export interface About {
    /** The version of the command. */
    version: string;
    recordings: RecordingSummary[];
    /** Subjects available here. `placement`, for example, needs an option on the command line. */
    subjects: string[];
}

export interface RecordingSummary {
    /** Name of the recording's directory. */
    name: string;
    command: string[];
    ranks: number;
    calls: number;
    hosts: string[];
    /** Index into `hosts` for each rank; -1 if unknown. */
    host_of: number[];
    mpi: string;
    /** Enter time of the first call and leave time of the last one, in nanoseconds since the recording began. */
    begin_ns: number;
    end_ns: number;
    /** Whether only totals were recorded instead of individual calls. */
    profile: boolean;
    /** Ranks with incomplete data, and the reason. */
    incomplete: { rank: number; why: string }[];
    exit_status: number | null;
    /** All call sites, by index. */
    sites: SourceLocation[];
    /** The most threads of an OpenMP region of any rank; 0 without OpenMP. */
    openmp_threads: number;
    /** Standalone file only: queries that are not embedded (`drawing?overview=1`), and the reason. */
    left_out?: Record<string, string>;
}

export interface SourceLocation {
    file: string | null;
    line: number | null;
    function: string | null;
    module: string;
    /** Offset in the module, if the line is unknown. */
    offset?: number;
    /** Callers that tell it from other call sites of the same line, nearest first: `function:line`. */
    callers?: string[];
}
