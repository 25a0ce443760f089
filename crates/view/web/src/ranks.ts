// Sets of ranks, written as in `0-3,7`.

/** The ranks that a text names, in order; those beyond `size` are left out. */
export function parse(text: string, size: number): number[] {
    const found = new Set<number>();
    for (const part of text.split(',')) {
        const [, first, last] = /^\s*(\d+)\s*(?:-\s*(\d+))?\s*$/.exec(part) ?? [];
        if (first === undefined) continue;
        const end = Math.min(Number(last ?? first), size - 1);
        for (let rank = Number(first); rank <= end; rank++) found.add(rank);
    }
    return [...found].sort((one, other) => one - other);
}

/** Ranks in order as a text. */
export function write(ranks: number[]): string {
    const parts: string[] = [];
    for (let at = 0; at < ranks.length; ) {
        let end = at;
        while (ranks[end + 1] === (ranks[end] ?? 0) + 1) end++;
        parts.push(end > at ? `${ranks[at]}-${ranks[end]}` : `${ranks[at]}`);
        at = end + 1;
    }
    return parts.join(',');
}
