// What the command answers about time, and how it is looked at: `docs/view-answers.md` says what the fields are.

import type { Binary } from '../../answers/source';
import { parse } from '../../ranks';
import type { Span } from './span';

export interface Header {
    from: number;
    to: number;
    columns: number;
    calls: number;
    messages: number | 'many' | null;
    /** The kinds of waits in all of the run, once they have been looked for. */
    waits: string[] | null;
    kinds: string[];
    rows: { label: string; ranks: string }[];
    planes: string[];
}

/** Ranks that share a row. */
export interface Row {
    label: string;
    ranks: number[];
}

/** What each row did in each of many short stretches of a span. */
export interface Picture {
    /** The window that was asked for, and what of it is drawn: cells of whole nanoseconds can be a little more. */
    asked: Span;
    span: Span;
    /** How many columns were asked for, and how many there are: no cell is finer than a nanosecond. */
    askedColumns: number;
    columns: number;
    rows: Row[];
    kinds: string[];
    /** How many calls begin in the span, about. */
    calls: number;
    messages: number | 'many' | null;
    /** The kinds of waits in all of the run, as far as they are known. */
    waits: string[];
    kind: Uint8Array;
    share: Uint8Array;
    /** Only there when the analysis has been made. */
    waiting: Uint8Array | undefined;
    path: Uint8Array | undefined;
}

export function picture({ header, bytes }: Binary<Header>, ranks: number, asked?: { span: Span; columns: number }): Picture {
    const size = header.columns * header.rows.length;
    const plane = (name: string) => {
        const at = header.planes.indexOf(name);
        return at < 0 ? undefined : bytes.subarray(at * size, (at + 1) * size);
    };
    const span = { from: header.from, to: header.to };
    return {
        asked: asked?.span ?? span,
        span,
        askedColumns: asked?.columns ?? header.columns,
        columns: header.columns,
        rows: header.rows.map((row) => ({ label: row.label, ranks: parse(row.ranks, ranks) })),
        kinds: header.kinds,
        calls: header.calls,
        messages: header.messages,
        waits: header.waits ?? [],
        kind: plane('kind') ?? new Uint8Array(size),
        share: plane('share') ?? new Uint8Array(size),
        waiting: plane('waiting'),
        path: plane('path'),
    };
}

/** How long a cell of a picture is. */
export const cellOf = ({ span, columns }: Pick<Picture, 'span' | 'columns'>): number => (span.to - span.from) / columns;

/** The columns in which any row does something: from the first, up to `end`. */
export function columnsAtWork({ kind, kinds, columns }: Pick<Picture, 'kind' | 'kinds' | 'columns'>): { first: number; end: number } {
    const absent = kinds.indexOf('absent');
    let [first, end] = [columns, 0];
    kind.forEach((one, cell) => {
        if (one === absent) return;
        first = Math.min(first, cell % columns);
        end = Math.max(end, (cell % columns) + 1);
    });
    return { first, end };
}

/** Every call of a span, as it is answered: columns of the same length. */
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

/** One call; what it does not have is undefined. */
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
    /** Nanoseconds of waiting, and the kind of wait. */
    wait: number;
    cause: string | undefined;
}

/** Calls one by one. */
export function calls(columns: CallColumns, from: number): Call[] {
    const known = (value: number | undefined) => (value === undefined || value < 0 ? undefined : value);
    return columns.rank.map((rank, at) => ({
        rank,
        thread: columns.thread[at] ?? 0,
        enter: from + (columns.enter[at] ?? 0),
        leave: from + (columns.leave[at] ?? 0),
        operation: columns.names[columns.operation[at] ?? -1] ?? '?',
        site: columns.site[at] ?? -1,
        kind: columns.kind[at] ?? 0,
        peer: known(columns.peer[at]),
        tag: known(columns.tag[at]),
        sent: columns.sent[at] ?? 0,
        received: columns.received[at] ?? 0,
        communicator: known(columns.communicator[at]),
        wait: columns.wait[at] ?? 0,
        cause: columns.names[columns.cause[at] ?? -1]?.replaceAll('_', ' '),
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

/** Messages one by one. */
export function messages(columns: MessageColumns): Message[] {
    return columns.from.map((from, at) => ({
        from,
        sent: columns.sent[at] ?? 0,
        to: columns.to[at] ?? 0,
        received: columns.received[at] ?? 0,
        bytes: columns.bytes[at] ?? 0,
        tag: columns.tag[at] ?? 0,
    }));
}

/** A call that was looked for. */
export interface Found {
    rank: number;
    enter: number;
    leave: number;
    operation: string;
    site: number;
}

/** Of calls that were looked for one by one, the first; the last if one looks back. */
export function nearest(found: (Found | null)[], back = false): Found | null {
    const calls = found.filter((call) => call !== null).sort((one, other) => one.enter - other.enter || one.rank - other.rank);
    return calls.at(back ? -1 : 0) ?? null;
}
