// What is open: asked first.

export interface About {
    /** The version of the command. */
    version: string;
    recordings: Recorded[];
    /** Subjects that have an answer here, such as `placement`: what was not given on the command line has none. */
    subjects: string[];
}

export interface Recorded {
    /** The name of its folder. */
    name: string;
    command: string[];
    ranks: number;
    calls: number;
    hosts: string[];
    /** The host of each rank, by number; -1 if it is not known. */
    host_of: number[];
    mpi: string;
    /** Nanoseconds since the recording began at which the first call was entered and the last one left. */
    begin_ns: number;
    end_ns: number;
    /** Whether only sums were kept, not every call. */
    profile: boolean;
    /** Ranks of which not everything is known, and why. */
    incomplete: { rank: number; why: string }[];
    exit_status: number | null;
    /** The names of all call sites, by number. */
    sites: Site[];
    /** In a file: questions that have no answer in it (`drawing?overview=1`), and why. */
    left_out?: Record<string, string>;
}

export interface Site {
    file: string | null;
    line: number | null;
    function: string | null;
    module: string;
    /** Where in the module it is, if the line is not known. */
    offset?: number;
}
