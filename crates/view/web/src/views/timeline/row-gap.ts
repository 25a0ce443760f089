// The gap between rows of the timeline.

/** Gap between rows, by row height. */
export const rowGap = (height: number): number => (height >= 6 ? 1 : 0);
