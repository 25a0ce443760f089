// Merges adjacent equal cells, to keep SVG and CSV files small.

/** Runs of equal cells in a row of columns: start and end (exclusive) of each. */
export function equalRuns(first: number, end: number, isEqual: (one: number, next: number) => boolean): [from: number, to: number][] {
    const found: [number, number][] = [];
    for (let from = first; from < end; ) {
        let to = from + 1;
        while (to < end && isEqual(from, to)) to++;
        found.push([from, to]);
        from = to;
    }
    return found;
}
