// Sets of ranks: in addresses and queries as in `0-3,7`, in text as people write them: `0-3, 7`, `0, 4, 8, …, 60`.

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

/** Formats sorted ranks for addresses and queries. */
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

/** Shortest list of equally spaced ranks that is abbreviated, and how many of them are shown before the dots. */
const MIN_ABBREVIATED = 5;
const SHOWN = 3;

/** Formats sorted ranks as text. */
export function displayRanks(ranks: number[]): string {
    const parts: (number | string)[] = [];
    for (let index = 0; index < ranks.length; ) {
        const step = (ranks[index + 1] ?? 0) - (ranks[index] ?? 0);
        let end = index;
        while (step > 0 && ranks[end + 1] === (ranks[end] ?? 0) + step) end++;
        if (step === 1) parts.push(`${ranks[index]}-${ranks[end]}`);
        else if (end - index + 1 >= MIN_ABBREVIATED) parts.push(...ranks.slice(index, index + SHOWN), '…', ranks[end] ?? 0);
        else {
            end = index;
            parts.push(ranks[index] ?? 0);
        }
        index = end + 1;
    }
    return parts.join(', ');
}

/** The ranks of a text that `displayRanks` has written, as in addresses. */
export function ranksInText(text: string): string {
    const parts: string[] = [];
    const numbers = text.match(/\d+(?:-\d+)?|…/g) ?? [];
    numbers.forEach((part, index) => {
        const [before, last, next] = [numbers[index - 2], numbers[index - 1], numbers[index + 1]].map(Number);
        if (part !== '…') parts.push(part);
        else if (before !== undefined && last !== undefined && next !== undefined && last > before)
            for (let rank = 2 * last - before; rank < next; rank += last - before) parts.push(`${rank}`);
    });
    return parts.join(',');
}
