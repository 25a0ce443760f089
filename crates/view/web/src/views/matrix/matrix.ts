// The communication matrix in one unit: rows send, columns receive.

import type { CommunicationMatrix, PairColumns } from '../../answers/communication';
import { bytes, count, seconds } from '../../units';

export type Unit = 'bytes' | 'messages' | 'seconds';

export const UNITS: Unit[] = ['bytes', 'messages', 'seconds'];

export function formatAmount(unit: Unit, value: number): string {
    if (value === 0) return '0';
    if (unit === 'bytes') return bytes(value);
    return unit === 'seconds' ? seconds(value) : count(value);
}

export interface Pair {
    from: number;
    to: number;
    value: number;
    /** Index into the lists of the answer. */
    entry: number;
}

export interface Matrix {
    unit: Unit;
    answer: CommunicationMatrix;
    size: number;
    pairs: Pair[];
    /** Sums per label. */
    sent: number[];
    received: number[];
    /** Smallest and largest nonzero value. */
    min: number;
    max: number;
    total: number;
    pairAt: (from: number, to: number) => Pair | undefined;
}

/** What a unit counts; bytes where the time is not known. */
export function valuesOf(columns: PairColumns, unit: Unit): number[] {
    return (unit === 'seconds' ? columns.seconds : columns[unit]) ?? columns.bytes;
}

export function buildMatrix(answer: CommunicationMatrix, wanted: Unit): Matrix {
    const unit = wanted === 'seconds' && !answer.seconds ? 'bytes' : wanted;
    const values = valuesOf(answer, unit);
    const size = answer.labels.length;
    const pairs: Pair[] = [];
    const places = new Map<number, Pair>();
    const sent = new Array<number>(size).fill(0);
    const received = new Array<number>(size).fill(0);
    let [min, max, total] = [Infinity, 0, 0];
    answer.from.forEach((from, entry) => {
        const [to, value] = [answer.to[entry], values[entry]];
        if (to === undefined || value === undefined) return;
        const pair = { from, to, value, entry };
        pairs.push(pair);
        places.set(from * size + to, pair);
        sent[from] = (sent[from] ?? 0) + value;
        received[to] = (received[to] ?? 0) + value;
        if (value > 0) [min, max] = [Math.min(min, value), Math.max(max, value)];
        total += value;
    });
    return { unit, answer, size, pairs, sent, received, min: Math.min(min, max), max, total, pairAt: (from, to) => places.get(from * size + to) };
}
