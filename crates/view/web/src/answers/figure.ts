// An estimate: the lowest, the middle and the highest it may be.

export type Figures = [low: number, middle: number, high: number];
