// What is told about a node of the call tree.

import { nanoseconds, percent } from '../../units';
import { type CallNode, differenceOf } from './call-tree';
import { kindLabel } from './flame-colours';

export const signedTime = (ns: number): string => `${ns > 0 ? '+' : ns < 0 ? '−' : ''}${nanoseconds(Math.abs(ns))}`;

/** Lines about a node: its time alone and with callees, and its share. */
export function nodeLines(root: CallNode, node: CallNode): string[] {
    const { time, base } = node;
    const share = (ns: number) => percent(ns / Math.max(root.time.total, 1));
    const lines = [node.name, `total ${nanoseconds(time.total)}, ${share(time.total)}`];
    if (node.depth > 0) lines.push(`self ${nanoseconds(time.self)}, ${share(time.self)}`);
    if (base) lines.push(`baseline ${nanoseconds(base.total)}, difference ${signedTime(differenceOf(node))}`);
    const parts = [
        ['computation', time.computation],
        ['kernel', time.kernel],
        ['MPI', time.mpi],
    ] as const;
    const present = parts.filter(([, ns]) => ns > 0);
    if (present.length > 1) lines.push(present.map(([name, ns]) => `${name} ${percent(ns / time.total)}`).join(', '));
    if (node.parent && node.parent.depth > 0 && node.parent.time.total > 0)
        lines.push(`${percent(time.total / node.parent.time.total)} of ${node.parent.label}`);
    const where = [kindLabel(node.kind), node.file ?? node.module].filter((part) => part !== '');
    if (where.length > 0) lines.push(where.join(': '));
    return lines;
}
