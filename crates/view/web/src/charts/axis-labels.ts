// Axis labels: names beside bars, and rank axes.

const CHAR_WIDTH = 7;
const MIN_WIDTH = 60;

/** Width of the name column left of a chart, at most 40 % of its width. */
export function labelWidth(names: string[], width: number): number {
    const longest = names.reduce((max, name) => Math.max(max, name.length), 0);
    return Math.max(MIN_WIDTH, Math.min(CHAR_WIDTH * longest + 14, 0.4 * width));
}

/** Truncates a name to a width. The end is kept because it distinguishes call sites. */
export function truncateLabel(name: string, available: number): string {
    const letters = Math.floor((available - 14) / CHAR_WIDTH);
    return name.length <= letters ? name : `…${name.slice(1 - letters)}`;
}

/** Options of an axis with one bar or point per rank. */
export function rankAxis(ranks: number) {
    const tickFormat = (rank: number) => (Number.isInteger(rank) ? `${rank}` : '');
    return { label: 'rank', domain: [-0.5, ranks - 0.5], ticks: Math.min(16, ranks), tickFormat };
}
