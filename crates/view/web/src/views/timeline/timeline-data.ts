// Answers for the timeline and their decoded forms. See docs/view-answers.md for the fields.

import type { BinaryAnswer } from '../../answers/answer-source';
import { parseRanks } from '../../ranks';
import type { TimeSpan } from './time-span';

export interface RasterHeader {
    from: number;
    to: number;
    columns: number;
    calls: number;
    messages: number | 'many' | null;
    /** Kinds of wait states in the whole run; null before the analysis is available. */
    waits: string[] | null;
    kinds: string[];
    /** With `mpi_thread` and `thread` if each thread has a row. */
    rows: { label: string; ranks: string; mpi_thread?: number; thread?: number }[];
    planes: string[];
    /** Number of bytes after the planes. */
    activity: number;
}

/** A row of the raster: one or more ranks, or a thread. */
export interface RasterRow {
    label: string;
    ranks: number[];
    /** The thread, if each thread has a row. */
    lane?: ThreadLane | undefined;
}

/** A thread: one that calls MPI, and the number in the OpenMP team that it starts. It is number 0 itself. */
export interface ThreadLane {
    mpiThread: number;
    thread: number;
}

/** Activity of each row in each of many short intervals of a span. */
export interface Raster {
    /** The requested window, and the span covered: rounded to whole nanoseconds per cell. */
    requestedSpan: TimeSpan;
    span: TimeSpan;
    /** Number of columns requested, and present: no cell is shorter than a nanosecond. */
    requestedColumns: number;
    columns: number;
    rows: RasterRow[];
    kinds: string[];
    /** Approximate number of calls that begin in the span. */
    calls: number;
    messages: number | 'many' | null;
    /** Kinds of wait states in the whole run, as far as known. */
    waits: string[];
    kind: Uint8Array;
    share: Uint8Array;
    /** Only available with the analysis. */
    waiting: Uint8Array | undefined;
    path: Uint8Array | undefined;
    /** Only available if it is known when ranks had no core. */
    noCore: Uint8Array | undefined;
    /** The share of each kind in the time of all rows, from 0 to 255, column by column. */
    activity: Uint8Array;
}

export function decodeRaster({ header, bytes }: BinaryAnswer<RasterHeader>, ranks: number, requested?: { span: TimeSpan; columns: number }): Raster {
    const size = header.columns * header.rows.length;
    const plane = (name: string) => {
        const index = header.planes.indexOf(name);
        return index < 0 ? undefined : bytes.subarray(index * size, (index + 1) * size);
    };
    const span = { from: header.from, to: header.to };
    return {
        requestedSpan: requested?.span ?? span,
        span,
        requestedColumns: requested?.columns ?? header.columns,
        columns: header.columns,
        rows: header.rows.map(({ label, ranks: numbers, mpi_thread, thread }) => ({
            label,
            ranks: parseRanks(numbers, ranks),
            lane: mpi_thread === undefined || thread === undefined ? undefined : { mpiThread: mpi_thread, thread },
        })),
        kinds: header.kinds,
        calls: header.calls,
        messages: header.messages,
        waits: header.waits ?? [],
        kind: plane('kind') ?? new Uint8Array(size),
        share: plane('share') ?? new Uint8Array(size),
        waiting: plane('waiting'),
        path: plane('path'),
        noCore: plane('no-core'),
        activity: bytes.subarray(header.planes.length * size, header.planes.length * size + header.activity),
    };
}

export const cellDuration = ({ span, columns }: Pick<Raster, 'span' | 'columns'>): number => (span.to - span.from) / columns;

/** The columns with activity in any row; `end` is exclusive. */
export function activeColumns({ kind, kinds, columns }: Pick<Raster, 'kind' | 'kinds' | 'columns'>): { first: number; end: number } {
    const absent = kinds.indexOf('absent');
    let [first, end] = [columns, 0];
    kind.forEach((one, cell) => {
        if (one === absent) return;
        first = Math.min(first, cell % columns);
        end = Math.max(end, (cell % columns) + 1);
    });
    return { first, end };
}

/** Calls of a span, as columns of equal length. */
export interface CallColumns {
    many: number | null;
    rank: number[];
    thread: number[];
    enter: number[];
    leave: number[];
    operation: number[];
    site: number[];
    peer: number[];
    tag: number[];
    sent: number[];
    received: number[];
    communicator: number[];
    wait: number[];
    cause: number[];
    kind: number[];
    names: string[];
}

/** A call; fields that do not apply are undefined. */
export interface Call {
    rank: number;
    thread: number;
    enter: number;
    leave: number;
    operation: string;
    site: number;
    kind: number;
    peer: number | undefined;
    tag: number | undefined;
    sent: number;
    received: number;
    communicator: number | undefined;
    /** Waiting time in nanoseconds, and the kind of wait state. */
    wait: number;
    cause: string | undefined;
}

export function toCalls(columns: CallColumns, from: number): Call[] {
    const known = (value: number | undefined) => (value === undefined || value < 0 ? undefined : value);
    return columns.rank.map((rank, index) => ({
        rank,
        thread: columns.thread[index] ?? 0,
        enter: from + (columns.enter[index] ?? 0),
        leave: from + (columns.leave[index] ?? 0),
        operation: columns.names[columns.operation[index] ?? -1] ?? '?',
        site: columns.site[index] ?? -1,
        kind: columns.kind[index] ?? 0,
        peer: known(columns.peer[index]),
        tag: known(columns.tag[index]),
        sent: columns.sent[index] ?? 0,
        received: columns.received[index] ?? 0,
        communicator: known(columns.communicator[index]),
        wait: columns.wait[index] ?? 0,
        cause: columns.names[columns.cause[index] ?? -1]?.replaceAll('_', ' '),
    }));
}

export interface MessageColumns {
    many: number | null;
    from: number[];
    sent: number[];
    to: number[];
    received: number[];
    bytes: number[];
    tag: number[];
}

export interface Message {
    from: number;
    sent: number;
    to: number;
    received: number;
    bytes: number;
    tag: number;
}

export function toMessages(columns: MessageColumns): Message[] {
    return columns.from.map((from, index) => ({
        from,
        sent: columns.sent[index] ?? 0,
        to: columns.to[index] ?? 0,
        received: columns.received[index] ?? 0,
        bytes: columns.bytes[index] ?? 0,
        tag: columns.tag[index] ?? 0,
    }));
}

/** Result of a search. */
export interface FoundCall {
    rank: number;
    enter: number;
    leave: number;
    operation: string;
    site: number;
}

/** The first of several results; the last one if searching backwards. */
export function nearestCall(found: (FoundCall | null)[], back = false): FoundCall | null {
    const calls = found.filter((call) => call !== null).sort((one, other) => one.enter - other.enter || one.rank - other.rank);
    return calls.at(back ? -1 : 0) ?? null;
}
