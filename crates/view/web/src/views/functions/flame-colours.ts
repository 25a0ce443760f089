// Colours of a flame graph: by where a function is, or by how its time changed.

import type { ModuleKind } from '../../answers/stacks';
import type { LegendEntry } from '../../charts/legend';
import { type CallNode, descendants, differenceOf } from './call-tree';

const KINDS: Record<ModuleKind, { label: string; variable: string }> = {
    program: { label: 'program', variable: '--computation' },
    library: { label: 'library', variable: '--receiving' },
    mpi: { label: 'MPI', variable: '--collective' },
    kernel: { label: 'kernel', variable: '--completing' },
};

export const KIND_LEGEND: LegendEntry[] = Object.values(KINDS);
export const DIFFERENCE_LEGEND: LegendEntry[] = [
    { label: 'more time', variable: '--waiting' },
    { label: 'less time', variable: '--sending' },
];

export const kindLabel = (kind: ModuleKind | undefined): string => (kind ? KINDS[kind].label : '');

/** Colours of boxes; `colour` resolves CSS variables. */
export function boxColours(root: CallNode, colour: (variable: string) => string): (node: CallNode) => string {
    const plain = colour('--surface');
    if (!root.base) return ({ kind, name }) => (kind ? mixColours(colour(KINDS[kind].variable), plain, shade(name)) : plain);
    const largest = Math.max(...[root, ...descendants(root)].map((node) => Math.abs(differenceOf(node))), Number.MIN_VALUE);
    return (node) => {
        const difference = differenceOf(node);
        return mixColours(colour(difference > 0 ? '--waiting' : '--sending'), plain, 1 - Math.sqrt(Math.abs(difference) / largest));
    };
}

/** Mixes colours given as `rgb(0, 114, 178)`; a share of 1 is the second one. */
export function mixColours(one: string, other: string, share: number): string {
    const channels = (text: string) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const [first, second] = [channels(one), channels(other)];
    const mixed = [0, 1, 2].map((index) => Math.round((first[index] ?? 0) * (1 - share) + (second[index] ?? 0) * share));
    return `rgb(${mixed.join(', ')})`;
}

/** A lighter or darker shade by name, so that boxes beside each other can be told apart. */
function shade(name: string): number {
    let hash = 0;
    for (const letter of name) hash = (31 * hash + letter.charCodeAt(0)) % 1009;
    return (hash % 4) * 0.09;
}
