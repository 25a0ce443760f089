// Answer `scaling`: the model of `sintonia fit` and `sintonia predict --json` as curves. See docs/fit.md and docs/predict.md.

import type { Estimate } from './estimate';

export interface ScalingModel {
    name: string;
    quantity: string;
    unit: string;
    formula: string;
    parameters: { name: string; from: number; to: number }[];
    fixed: Record<string, number>;
    error_percent: number | null;
    noise_percent: number;
    /** Minimum efficiency considered acceptable. */
    efficiency: number;
    /** How far the curves extrapolate, as a multiple of the measured range. */
    times: number;
    /** Command that records the most informative next run. */
    next: string | null;
    notes: string[];
    /** Index of the parameter that varied most. */
    first: number;
    lines: ScalingCurve[];
}

/** Time over one parameter, the others fixed. */
export interface ScalingCurve {
    parameter: string;
    others: Record<string, number>;
    x: number[];
    seconds: Estimate[];
    parts: { name: string; seconds: number[] }[];
    measured: { x: number; seconds: number; between: [number, number] | null }[];
    forecast: Forecast | null;
}

export interface Forecast {
    predictions: Prediction[];
    best: BestProcessCount | null;
    speedup_base: number | null;
}

export interface Prediction {
    procs: number | null;
    params: Record<string, number>;
    seconds: Estimate;
    speedup: number | null;
    speedup_between: [number, number] | null;
    efficiency: number | null;
    efficiency_between: [number, number] | null;
    limited_by: string | null;
    limited_by_share: number | null;
    /** Extrapolation, as a multiple of the measured range. */
    times_beyond: number;
}

/** Recommended numbers of processes. */
export interface BestProcessCount {
    time: number;
    time_between: [number, number];
    still_falls: boolean;
    efficiency: number | null;
    efficiency_between: [number, number] | null;
    still_enough: boolean;
}
