// Cells of a row that follow each other and look the same, put together: pictures and tables become small.

/** The columns of a row in stretches of cells that are alike: the first of each, and the one after its last. */
export function stretches(first: number, end: number, alike: (one: number, next: number) => boolean): [from: number, to: number][] {
    const found: [number, number][] = [];
    for (let from = first; from < end; ) {
        let to = from + 1;
        while (to < end && alike(from, to)) to++;
        found.push([from, to]);
        from = to;
    }
    return found;
}
