// Search by regular expression in the names of functions.

import { type CallNode, weightOf } from './call-tree';

export type FunctionSearch = { matches: (node: CallNode) => boolean } | { error: string } | undefined;

/** A search; upper and lower case are the same. Nothing is searched for with an empty text. */
export function parseSearch(text: string): FunctionSearch {
    if (text === '') return undefined;
    try {
        const expression = new RegExp(text, 'i');
        return { matches: ({ name, depth }) => depth > 0 && expression.test(name) };
    } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) };
    }
}

/** Share of the time below a node that is in matching functions and in what they called. */
export function matchedShare(root: CallNode, matches: (node: CallNode) => boolean): number {
    let sum = 0;
    const open = [root];
    for (let node = open.pop(); node; node = open.pop()) {
        if (matches(node)) sum += weightOf(node);
        else open.push(...node.children);
    }
    return sum / Math.max(weightOf(root), Number.MIN_VALUE);
}
