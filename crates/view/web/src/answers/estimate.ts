// An estimate with its bounds.

export type Estimate = [low: number, middle: number, high: number];
