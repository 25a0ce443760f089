// The call tree of sampled functions: from callers to callees or the other way round, and the difference of two.

import type { ModuleKind, StackAnswer, StackFunction } from '../../answers/stacks';

/** Nanoseconds; `total` is the sum of the last three. */
export interface StackTimes {
    self: number;
    total: number;
    computation: number;
    kernel: number;
    mpi: number;
}

export interface CallNode {
    /** Names a node in the address: the functions from the root on, with their lines. */
    path: string;
    name: string;
    /** The name without parameters and template arguments. */
    label: string;
    kind: ModuleKind | undefined;
    /** Index of the function in the recording; undefined at the root, and where only the baseline has it. */
    functionIndex: number | undefined;
    file: string | null;
    module: string;
    depth: number;
    parent: CallNode | undefined;
    /** Largest first. */
    children: CallNode[];
    time: StackTimes;
    /** Time in the baseline, if there is one. */
    base: StackTimes | undefined;
}

/** How functions are arranged: under their callers, or above the functions they call. */
export const DIRECTIONS = ['callees', 'callers'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** An answer; times are divided by `divisor`, to compare means per rank. */
export interface StackSide {
    answer: StackAnswer;
    divisor: number;
}

const noTime = (): StackTimes => ({ self: 0, total: 0, computation: 0, kernel: 0, mpi: 0 });

/** Width of a node in the flame graph. With a baseline it is the sum of both, so that what only one of them has is visible too. */
export const weightOf = ({ time, base }: CallNode): number => time.total + (base?.total ?? 0);

/** Time minus the baseline. */
export const differenceOf = ({ time, base }: CallNode): number => time.total - (base?.total ?? 0);

/** The tree of an answer, and of a baseline if it is given. */
export function buildCallTree(shown: StackSide, base: StackSide | undefined, direction: Direction): CallNode {
    const builder = new TreeBuilder(base !== undefined);
    builder.add(shown, false, direction);
    if (base) builder.add(base, true, direction);
    return builder.finish();
}

/** Finds a node by its path. */
export function findNode(root: CallNode, path: string): CallNode | undefined {
    if (path === '') return root;
    let node: CallNode | undefined = root;
    let known = '';
    for (const part of path.split('.')) {
        known = known === '' ? part : `${known}.${part}`;
        node = node?.children.find((child) => child.path === known);
    }
    return node;
}

/** All nodes below a node, each after its parent. */
export function descendants(node: CallNode): CallNode[] {
    const found: CallNode[] = [];
    const open = [...node.children].reverse();
    for (let next = open.pop(); next; next = open.pop()) {
        found.push(next);
        open.push(...[...next.children].reverse());
    }
    return found;
}

/** From the root to a node. */
export function ancestors(node: CallNode): CallNode[] {
    const found: CallNode[] = [];
    for (let next = node.parent; next; next = next.parent) found.unshift(next);
    return found;
}

class TreeBuilder {
    private readonly root: CallNode;
    private readonly children = new Map<CallNode, Map<string, CallNode>>();
    /** Functions of the first answer, to find those of the baseline. */
    private known: StackFunction[] = [];

    constructor(private readonly hasBase: boolean) {
        this.root = {
            path: '',
            name: 'all functions',
            label: 'all functions',
            kind: undefined,
            functionIndex: undefined,
            file: null,
            module: '',
            depth: 0,
            parent: undefined,
            children: [],
            time: noTime(),
            base: hasBase ? noTime() : undefined,
        };
    }

    add({ answer, divisor }: StackSide, isBase: boolean, direction: Direction): void {
        const { nodes, functions } = answer;
        if (!isBase) this.known = functions;
        const numbers = isBase ? sameFunctions(functions, this.known) : functions.map((_, index) => index);
        const step = (at: CallNode, node: number) =>
            this.child(at, functions[nodes.function[node] ?? 0], numbers[nodes.function[node] ?? 0] ?? 0, nodes.line?.[node] ?? 0);
        const timesOf = (at: CallNode) => (isBase ? (at.base ?? noTime()) : at.time);
        const placed: CallNode[] = [];
        nodes.self.forEach((self, node) => {
            const caller = nodes.caller[node] ?? -1;
            if (direction === 'callees') {
                const at = step(caller < 0 ? this.root : (placed[caller] ?? this.root), node);
                placed.push(at);
                const amount = { computation: nodes.computation[node] ?? 0, kernel: nodes.kernel[node] ?? 0, mpi: nodes.mpi[node] ?? 0 };
                addTime(timesOf(at), amount, self, divisor);
                if (caller < 0) addTime(timesOf(this.root), amount, 0, divisor);
                return;
            }
            if (self === 0) return;
            const kind = functions[nodes.function[node] ?? 0]?.kind;
            const amount = { computation: 0, kernel: 0, mpi: 0, [kind === 'kernel' || kind === 'mpi' ? kind : 'computation']: self };
            addTime(timesOf(this.root), amount, 0, divisor);
            let at = this.root;
            for (let next = node; next >= 0; next = nodes.caller[next] ?? -1) {
                at = step(at, next);
                addTime(timesOf(at), amount, next === node ? self : 0, divisor);
            }
        });
    }

    finish(): CallNode {
        for (const [node, children] of this.children) {
            node.children = [...children.values()].sort((one, other) => weightOf(other) - weightOf(one));
        }
        return this.root;
    }

    private child(parent: CallNode, one: StackFunction | undefined, number: number, line: number): CallNode {
        const siblings = this.children.get(parent) ?? new Map<string, CallNode>();
        this.children.set(parent, siblings);
        const key = line > 0 ? `${number}:${line}` : `${number}`;
        const known = siblings.get(key);
        if (known) return known;
        const atLine = line > 0 ? `:${line}` : '';
        const node: CallNode = {
            path: parent.path === '' ? key : `${parent.path}.${key}`,
            name: `${one?.name ?? ''}${atLine}`,
            label: `${one?.short_name ?? one?.name ?? ''}${atLine}`,
            kind: one?.kind,
            functionIndex: number >= 0 ? number : undefined,
            file: one?.file ?? null,
            module: one?.module ?? '',
            depth: parent.depth + 1,
            parent,
            children: [],
            time: noTime(),
            base: this.hasBase ? noTime() : undefined,
        };
        siblings.set(key, node);
        return node;
    }
}

/** The index of each function in another list; those that it does not have get negative numbers. A file may have been renamed. */
function sameFunctions(functions: StackFunction[], others: StackFunction[]): number[] {
    const byKey = uniqueIndices(others.map(functionKey));
    const byName = uniqueIndices(others.map(({ name }) => name));
    const ownNames = uniqueIndices(functions.map(({ name }) => name));
    return functions.map((one, index) => byKey.get(functionKey(one)) ?? (ownNames.has(one.name) ? byName.get(one.name) : undefined) ?? -1 - index);
}

/** Index of each text that occurs once. */
function uniqueIndices(texts: string[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    return new Map([...texts.entries()].filter(([, text]) => counts.get(text) === 1).map(([index, text]) => [text, index]));
}

/** Programs may have been built elsewhere, so directories do not tell functions apart. */
const functionKey = ({ name, file, module }: StackFunction): string =>
    JSON.stringify([name, file === null ? module.split('/').at(-1) : file.split('/').at(-1)]);

function addTime(to: StackTimes, amount: { computation: number; kernel: number; mpi: number }, self: number, divisor: number): void {
    to.self += self / divisor;
    to.computation += amount.computation / divisor;
    to.kernel += amount.kernel / divisor;
    to.mpi += amount.mpi / divisor;
    to.total += (amount.computation + amount.kernel + amount.mpi) / divisor;
}
