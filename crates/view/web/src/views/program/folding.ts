// Which scopes of the program graph are open: in the address, and as query parameters.
//
// A server draws any set of open scopes. A standalone file only holds drawings of whole depths, so there a scope is unfolded with all others
// of its depth.

import { answerSource, type QueryParams } from '../../answers/answer-source';
import type { FoldedDrawing } from '../../answers/program';
import { selection, setViewParam } from '../../state/address';

/** The deepest drawing in a standalone file. */
const MAX_FILE_DEPTH = 6;
/** In the address: no scope is open. */
const NONE = '-';

/** The query for the drawing in the address; the default is a screenful. */
export function foldingQuery(): QueryParams {
    const { open, depth } = selection.value.viewParams;
    if (answerSource.isLive && open !== undefined) return { open: open === NONE ? '' : open };
    return { depth: parseDepth(depth) };
}

/** Unfolds or folds a scope. */
export function toggleScope(drawing: FoldedDrawing, scope: number): void {
    const open = new Set(drawing.open);
    const isOpen = open.has(scope);
    if (answerSource.isLive) {
        if (isOpen) open.delete(scope);
        else open.add(scope);
        setViewParam('depth', '');
        setViewParam('open', [...open].join() || NONE);
    } else {
        const depth = drawing.depths?.[scope] ?? 1;
        setViewParam('depth', String(Math.min(isOpen ? depth : depth + 1, MAX_FILE_DEPTH)));
    }
}

/** Shows the graph to a depth; without one, a screenful. */
export function showDepth(depth: number | undefined): void {
    setViewParam('open', '');
    setViewParam('depth', depth === undefined ? '' : String(depth));
}

/** The depth at which nothing is folded, as far as it can be shown. */
export function maxDepth({ depths = [] }: FoldedDrawing): number {
    const deepest = depths.reduce((most, depth) => Math.max(most, depth), 0) + 1;
    return answerSource.isLive ? deepest : Math.min(deepest, MAX_FILE_DEPTH);
}

function parseDepth(text: string | undefined): number | undefined {
    const depth = Number(text);
    return Number.isInteger(depth) && depth > 0 ? depth : undefined;
}
