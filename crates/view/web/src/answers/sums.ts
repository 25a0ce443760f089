// Answer `sums`: what a selection of time and ranks took. Times are in nanoseconds.

import type { RecordingSummary } from './about';
import type { CallSite, Cores, Efficiency, OperationTime, RankTime, Report, WaitState } from './report';

export interface Sums {
    from: number;
    to: number;
    /** Of the window, between the first end of MPI_Init and the last start of MPI_Finalize. */
    elapsed_ns: number;
    efficiency: Efficiency | null;
    kinds: string[];
    /** Time of each kind, over all ranks. */
    activity: number[];
    operations: string[];
    /** Columns of equal length, one entry for each rank. */
    per_rank: { rank: number[]; calls: number[]; computing: number[]; mpi: number[]; init: number[]; finalize: number[]; waiting: number[] };
    /** Most time first; `operation` is an index into `operations`. */
    sites: { site: number[]; operation: number[]; calls: number[]; ns: number[]; bytes: number[] };
    /** Longest first; null until wait states are known. `kinds` has the identifier and the name of each kind. */
    waits: {
        kinds: [kind: string, name: string][];
        kind: number[];
        site: number[];
        operation: number[];
        count: number[];
        ns: number[];
        ranks: number[][];
    } | null;
}

/** The figures of a selection, named as in a report. */
export type SelectionReport = Pick<
    Report,
    | 'ranks'
    | 'elapsed_s'
    | 'work_s'
    | 'calls'
    | 'efficiency'
    | 'per_rank'
    | 'operations'
    | 'call_sites'
    | 'wait_states'
    | 'cores'
    | 'profile'
    | 'threads'
> & {
    /** Whether wait states are known. */
    hasWaits: boolean;
};

const UNKNOWN_CORES: Cores = { basis: 'unknown', share: null, statement: null, split: null, per_rank: [], held_back: 0 };
const NANOSECOND = 1e-9;

export function selectionReport(sums: Sums, recording: RecordingSummary): SelectionReport {
    const calls = siteTotals(sums, recording);
    return {
        ranks: recording.ranks,
        elapsed_s: NANOSECOND * (sums.to - sums.from),
        work_s: NANOSECOND * sums.elapsed_ns,
        calls: sums.per_rank.calls.reduce((sum, calls) => sum + calls, 0),
        efficiency: sums.efficiency,
        per_rank: rankTimes(sums, recording),
        operations: operationTotals(calls),
        call_sites: calls,
        wait_states: waitStates(sums, recording),
        hasWaits: sums.waits !== null,
        cores: UNKNOWN_CORES,
        profile: false,
    };
}

function rankTimes({ per_rank }: Sums, { hosts, host_of }: RecordingSummary): RankTime[] {
    const time = (column: number[], index: number) => NANOSECOND * (column[index] ?? 0);
    return per_rank.rank.map((rank, index) => ({
        rank,
        host: hosts[host_of[rank] ?? -1] ?? '',
        mpi_s: time(per_rank.mpi, index),
        outside_s: time(per_rank.computing, index),
        init_s: time(per_rank.init, index),
        finalize_s: time(per_rank.finalize, index),
        calls: per_rank.calls[index] ?? 0,
    }));
}

/** Calls with the same operation and location are one row, as in a report. */
function siteTotals({ sites, operations }: Sums, recording: RecordingSummary): CallSite[] {
    const rows = new Map<string, CallSite>();
    sites.site.forEach((site, index) => {
        const location = recording.sites[site];
        if (!location) return;
        const operation = operations[sites.operation[index] ?? -1] ?? '';
        const key = JSON.stringify([operation, location]);
        const row = rows.get(key) ?? { ...location, operation, calls: 0, seconds: 0, bytes: 0 };
        rows.set(key, row);
        row.calls += sites.calls[index] ?? 0;
        row.seconds += NANOSECOND * (sites.ns[index] ?? 0);
        row.bytes += sites.bytes[index] ?? 0;
    });
    return [...rows.values()];
}

function operationTotals(sites: CallSite[]): OperationTime[] {
    const rows = new Map<string, OperationTime>();
    for (const { operation, calls, seconds, bytes } of sites) {
        const row = rows.get(operation) ?? { operation, calls: 0, seconds: 0, bytes: 0 };
        rows.set(operation, row);
        row.calls += calls;
        row.seconds += seconds;
        row.bytes += bytes;
    }
    return [...rows.values()].sort((one, other) => other.seconds - one.seconds);
}

function waitStates({ waits, operations }: Sums, recording: RecordingSummary): WaitState[] {
    const rows = new Map<string, WaitState>();
    waits?.site.forEach((site, index) => {
        const location = recording.sites[site];
        const [kind, name] = waits.kinds[waits.kind[index] ?? -1] ?? ['', ''];
        if (!location) return;
        const operation = operations[waits.operation[index] ?? -1] ?? '';
        const key = JSON.stringify([kind, operation, location]);
        const unknown = { longest_s: Number.NaN, no_core_s: 0, waited_for: [] };
        const row = rows.get(key) ?? { ...location, ...unknown, kind, name, operation, seconds: 0, waits: 0, ranks: [] };
        rows.set(key, row);
        row.seconds += NANOSECOND * (waits.ns[index] ?? 0);
        row.waits += waits.count[index] ?? 0;
        row.ranks = [...new Set([...row.ranks, ...(waits.ranks[index] ?? [])])].sort((one, other) => one - other);
    });
    return [...rows.values()].sort((one, other) => other.seconds - one.seconds);
}
