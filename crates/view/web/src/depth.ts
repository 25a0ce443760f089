// Nesting depth in a list whose entries refer to their parent by index.

/** Number of ancestors of an entry. Terminates even if the list has a cycle. */
export function depthOf<Entry>(all: Entry[], one: Entry, above: (entry: Entry) => number | null): number {
    let depth = 0;
    let next = above(one);
    while (next !== null && depth < all.length) {
        const entry = all[next];
        next = entry === undefined ? null : above(entry);
        depth++;
    }
    return depth;
}
