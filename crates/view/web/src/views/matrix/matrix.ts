// The communication as a matrix of one unit: who (row) sent how much of it to whom (column).

import type { Communication } from '../../answers/communication';
import { bytes, count, seconds } from '../../units';

export type Unit = 'bytes' | 'messages' | 'seconds';

export const UNITS: Unit[] = ['bytes', 'messages', 'seconds'];

/** An amount of a unit for people. */
export function amount(unit: Unit, value: number): string {
    if (value === 0) return '0';
    if (unit === 'bytes') return bytes(value);
    return unit === 'seconds' ? seconds(value) : count(value);
}

export interface Pair {
    from: number;
    to: number;
    value: number;
    /** Where it is in the lists of the answer. */
    entry: number;
}

export interface Matrix {
    unit: Unit;
    answer: Communication;
    size: number;
    pairs: Pair[];
    /** What each label sent and received. */
    sent: number[];
    received: number[];
    /** The least and the most that any pair has, of those that have something. */
    least: number;
    most: number;
    total: number;
    at: (from: number, to: number) => Pair | undefined;
}

export function matrixOf(answer: Communication, wanted: Unit): Matrix {
    const unit = wanted === 'seconds' && !answer.seconds ? 'bytes' : wanted;
    const values = (unit === 'seconds' ? answer.seconds : answer[unit]) ?? [];
    const size = answer.labels.length;
    const pairs: Pair[] = [];
    const places = new Map<number, Pair>();
    const sent = new Array<number>(size).fill(0);
    const received = new Array<number>(size).fill(0);
    let [least, most, total] = [Infinity, 0, 0];
    answer.from.forEach((from, entry) => {
        const [to, value] = [answer.to[entry], values[entry]];
        if (to === undefined || value === undefined) return;
        const pair = { from, to, value, entry };
        pairs.push(pair);
        places.set(from * size + to, pair);
        sent[from] = (sent[from] ?? 0) + value;
        received[to] = (received[to] ?? 0) + value;
        if (value > 0) [least, most] = [Math.min(least, value), Math.max(most, value)];
        total += value;
    });
    return { unit, answer, size, pairs, sent, received, least: Math.min(least, most), most, total, at: (from, to) => places.get(from * size + to) };
}
