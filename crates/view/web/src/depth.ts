// How deep something stands in a list whose entries say which entry they are a part of.

/** How many entries are above one; a list that goes round in circles has an end too. */
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
