// Which rows of the call tree are visible: hot functions are open, and what was opened or closed since is in the address.

import { type CallNode, weightOf } from './call-tree';

/** A function with at least this share of its tree is open by default. */
const OPEN_SHARE = 0.1;
/** Most paths that are kept in the address. */
const MAX_TOGGLED = 60;

export interface RowState {
    node: CallNode;
    isOpen: boolean;
}

/** The visible rows, at most `most`; `sort` orders siblings. */
export function visibleRows(
    root: CallNode,
    toggled: Set<string>,
    sort: (siblings: CallNode[]) => CallNode[],
    most: number,
): { rows: RowState[]; isCut: boolean } {
    const rows: RowState[] = [];
    const open = [...sort(root.children)].reverse();
    for (let node = open.pop(); node; node = open.pop()) {
        if (rows.length >= most) return { rows, isCut: true };
        const isOpen = node.children.length > 0 && isOpenByDefault(root, node) !== toggled.has(node.path);
        rows.push({ node, isOpen });
        if (isOpen) open.push(...[...sort(node.children)].reverse());
    }
    return { rows, isCut: false };
}

const isOpenByDefault = (root: CallNode, node: CallNode): boolean => weightOf(node) >= OPEN_SHARE * weightOf(root);

/** Paths that are opened or closed against the default, as in the address. */
export const parseToggled = (text: string | undefined): Set<string> => new Set((text ?? '').split('!').filter((path) => path !== ''));

/** The text for the address after a path was opened or closed; the oldest are forgotten. */
export function toggle(toggled: Set<string>, path: string): string {
    const paths = toggled.has(path) ? [...toggled].filter((one) => one !== path) : [...toggled, path];
    return paths.slice(-MAX_TOGGLED).join('!');
}
