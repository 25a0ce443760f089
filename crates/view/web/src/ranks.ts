// Sets of ranks, as in `0-3,7`.

/** Parses a set of ranks into sorted numbers; those not below `size` are dropped. */
export function parseRanks(text: string, size: number): number[] {
    const found = new Set<number>();
    for (const part of text.split(',')) {
        const [, first, last] = /^\s*(\d+)\s*(?:-\s*(\d+))?\s*$/.exec(part) ?? [];
        if (first === undefined) continue;
        const end = Math.min(Number(last ?? first), size - 1);
        for (let rank = Number(first); rank <= end; rank++) found.add(rank);
    }
    return [...found].sort((one, other) => one - other);
}

/** Formats sorted ranks. */
export function formatRanks(ranks: number[]): string {
    const parts: string[] = [];
    for (let index = 0; index < ranks.length; ) {
        let end = index;
        while (ranks[end + 1] === (ranks[end] ?? 0) + 1) end++;
        parts.push(end > index ? `${ranks[index]}-${ranks[end]}` : `${ranks[index]}`);
        index = end + 1;
    }
    return parts.join(',');
}
