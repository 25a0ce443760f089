// Colour scale for amounts: viridis, which is ordered for colour-blind readers too. Larger values contrast more, on light and dark backgrounds.

import * as Plot from '@observablehq/plot';

export type RampScale = 'log' | 'linear';

const STEP_COUNT = 256;
/** Start of the scale on a dark background, where the first colours would not be visible. */
const DARK_START = 0.16;

export interface ColourRamp {
    /** Index of the colour for a value. */
    step: (value: number) => number;
    /** Whether text on the colour should be dark. */
    isLight: (value: number) => boolean;
    /** The colours in ascending order. */
    steps: string[];
    /** The value at a share of the scale. */
    valueAt: (share: number) => number;
}

export function colourRamp(min: number, max: number, scale: RampScale, style: 'light' | 'dark'): ColourRamp {
    const scheme = Plot.scale({ color: { type: 'linear', scheme: 'viridis', domain: [0, 1], reverse: style === 'light' } });
    const begin = style === 'dark' ? DARK_START : 0;
    const steps = Array.from({ length: STEP_COUNT }, (_, step) => String(scheme?.apply(begin + ((1 - begin) * step) / (STEP_COUNT - 1))));
    const isLog = scale === 'log' && min > 0 && max > min;
    const low = isLog ? Math.log(min) : 0;
    const span = isLog ? Math.log(max) - low : max;
    const share = (value: number): number => {
        if (span <= 0) return 1;
        return Math.min(1, Math.max(0, ((isLog ? Math.log(Math.max(value, min)) : value) - low) / span));
    };
    const step = (value: number): number => Math.round(share(value) * (STEP_COUNT - 1));
    return {
        step,
        isLight: (value) => (style === 'light' ? share(value) < 0.5 : share(value) > 0.5),
        steps,
        valueAt: (part) => (part === 1 ? max : !isLog ? part * max : part === 0 ? min : Math.exp(low + part * span)),
    };
}
