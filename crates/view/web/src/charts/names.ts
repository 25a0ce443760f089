// What stands at axes: names beside bars, with as much room as they need, and ranks.

const LETTER = 7;
const LEAST = 60;

/** The room for names on the left of a chart of a width: at most two fifths of it. */
export function roomFor(names: string[], width: number): number {
    const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
    return Math.max(LEAST, Math.min(LETTER * longest + 14, 0.4 * width));
}

/** A name in so much room; its end, which tells call sites apart, stays. */
export function fitting(name: string, room: number): string {
    const letters = Math.floor((room - 14) / LETTER);
    return name.length <= letters ? name : `…${name.slice(1 - letters)}`;
}

/** An axis of so many ranks, with a bar or point for each. */
export function rankAxis(ranks: number) {
    const tickFormat = (rank: number) => (Number.isInteger(rank) ? `${rank}` : '');
    return { label: 'rank', domain: [-0.5, ranks - 0.5], ticks: Math.min(16, ranks), tickFormat };
}
