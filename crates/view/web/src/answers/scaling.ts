// A model as curves: what `sintonia fit` finds and `sintonia predict --json` shows (docs/fit.md, docs/predict.md).

import type { Figures } from './figure';

export interface Scaling {
    name: string;
    quantity: string;
    unit: string;
    formula: string;
    parameters: { name: string; from: number; to: number }[];
    fixed: Record<string, number>;
    error_percent: number | null;
    noise_percent: number;
    /** The least efficiency that is enough. */
    efficiency: number;
    /** How many times beyond what was measured the curves go. */
    times: number;
    /** How to record the run that would say most. */
    next: string | null;
    notes: string[];
    /** The parameter that changed most, by its place. */
    first: number;
    lines: Curve[];
}

/** The time along one parameter, the others as they are. */
export interface Curve {
    parameter: string;
    others: Record<string, number>;
    x: number[];
    seconds: Figures[];
    parts: { name: string; seconds: number[] }[];
    measured: { x: number; seconds: number; between: [number, number] | null }[];
    forecast: Forecast | null;
}

export interface Forecast {
    predictions: Prediction[];
    best: Best | null;
    speedup_base: number | null;
}

export interface Prediction {
    procs: number | null;
    params: Record<string, number>;
    seconds: Figures;
    speedup: number | null;
    speedup_between: [number, number] | null;
    efficiency: number | null;
    efficiency_between: [number, number] | null;
    limited_by: string | null;
    limited_by_share: number | null;
    /** How many times beyond what was measured. */
    times_beyond: number;
}

/** Numbers of processes to choose. */
export interface Best {
    time: number;
    time_between: [number, number];
    still_falls: boolean;
    efficiency: number | null;
    efficiency_between: [number, number] | null;
    still_enough: boolean;
}
