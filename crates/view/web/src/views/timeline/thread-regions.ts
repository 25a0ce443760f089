// OpenMP regions, and what their threads did in them. See docs/view-answers.md for the fields.

/** Regions of a span, as columns of equal length; `times` has seven durations for each of their threads. */
export interface RegionColumns {
    /** All regions of the span; the answer only has the longest if there are many. */
    count: number;
    rank: number[];
    mpi_thread: number[];
    site: number[];
    executions: number[];
    begin: number[];
    end: number[];
    duration: number[];
    unfinished: boolean[];
    threads: number[];
    times: number[];
}

/** What a thread did in a region, in nanoseconds. */
export interface RegionTimes {
    /** Until it began. */
    start: number;
    useful: number;
    /** At barriers inside the region. */
    barrier: number;
    lock: number;
    other: number;
    mpi: number;
    /** Waiting for the others at the end of the region. */
    atEnd: number;
}

/** A region, executed once, or several times in a row. */
export interface Region {
    rank: number;
    /** The thread that started it, by its number among those that call MPI. */
    mpiThread: number;
    site: number;
    executions: number;
    begin: number;
    /** End of the last execution. */
    end: number;
    /** Sum of the executions. */
    duration: number;
    isUnfinished: boolean;
    threads: RegionTimes[];
}

/** Durations of a thread in an answer. */
const DURATIONS = 7;

export function toRegions(columns: RegionColumns): Region[] {
    let next = 0;
    return columns.rank.map((rank, index) => {
        const duration = columns.duration[index] ?? 0;
        const threads = Array.from({ length: columns.threads[index] ?? 0 }, () => {
            const times = columns.times.slice(next, next + DURATIONS);
            next += DURATIONS;
            return toTimes(times, duration);
        });
        return {
            rank,
            mpiThread: columns.mpi_thread[index] ?? 0,
            site: columns.site[index] ?? -1,
            executions: columns.executions[index] ?? 1,
            begin: columns.begin[index] ?? 0,
            end: columns.end[index] ?? 0,
            duration,
            isUnfinished: columns.unfinished[index] ?? false,
            threads,
        };
    });
}

function toTimes([start = 0, useful = 0, barrier = 0, lock = 0, other = 0, mpi = 0]: number[], duration: number): RegionTimes {
    const atEnd = Math.max(0, duration - start - useful - barrier - lock - other - mpi);
    return { start, useful, barrier, lock, other, mpi, atEnd };
}

/** A part of the time of a thread, and the shares of activities in it: in which order they came is not known. */
export interface RegionPart {
    from: number;
    to: number;
    shares: [kind: string, share: number][];
}

/** The parts of one execution of a region: a thread starts, does its work, and waits for the others. */
export function regionParts({ begin, end }: Region, times: RegionTimes): RegionPart[] {
    const workBegin = Math.min(end, begin + times.start);
    const workEnd = Math.max(workBegin, end - times.atEnd);
    const inside: [string, number][] = [
        ['parallel', times.useful],
        ['lock', times.lock],
        ['barrier', times.barrier],
        ['runtime', times.other],
        ['other', times.mpi],
    ];
    const all = Math.max(
        1,
        inside.reduce((sum, [, ns]) => sum + ns, 0),
    );
    const work: RegionPart = {
        from: workBegin,
        to: workEnd,
        shares: inside.filter(([, ns]) => ns > 0).map(([kind, ns]) => [kind, ns / all]),
    };
    const parts: RegionPart[] = [
        { from: begin, to: workBegin, shares: [['runtime', 1]] },
        work,
        { from: workEnd, to: end, shares: [['barrier', 1]] },
    ];
    return parts.filter(({ from, to }) => to > from);
}
