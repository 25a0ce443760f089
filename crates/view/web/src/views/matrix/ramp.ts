// Colours for amounts: viridis, which colour-blind people see in order; more stands out more, on a light and on a dark ground.

import * as Plot from '@observablehq/plot';

export type Scale = 'log' | 'linear';

const STEPS = 256;
/** Where the colours begin on a dark ground: the first of them would not be seen there. */
const DARK_FROM = 0.16;

export interface Ramp {
    /** Which of the colours an amount has. */
    step: (value: number) => number;
    /** Whether letters on it should be dark. */
    isLight: (value: number) => boolean;
    /** The colours from least to most. */
    steps: string[];
    /** The amount at a share of the way from least to most. */
    valueAt: (share: number) => number;
}

export function rampOf(least: number, most: number, scale: Scale, look: 'light' | 'dark'): Ramp {
    const scheme = Plot.scale({ color: { type: 'linear', scheme: 'viridis', domain: [0, 1], reverse: look === 'light' } });
    const begin = look === 'dark' ? DARK_FROM : 0;
    const steps = Array.from({ length: STEPS }, (_, step) => String(scheme?.apply(begin + ((1 - begin) * step) / (STEPS - 1))));
    const isLog = scale === 'log' && least > 0 && most > least;
    const low = isLog ? Math.log(least) : 0;
    const span = isLog ? Math.log(most) - low : most;
    const share = (value: number): number => {
        if (span <= 0) return 1;
        return Math.min(1, Math.max(0, ((isLog ? Math.log(Math.max(value, least)) : value) - low) / span));
    };
    const step = (value: number): number => Math.round(share(value) * (STEPS - 1));
    return {
        step,
        isLight: (value) => (look === 'light' ? share(value) < 0.5 : share(value) > 0.5),
        steps,
        valueAt: (part) => (part === 1 ? most : !isLog ? part * most : part === 0 ? least : Math.exp(low + part * span)),
    };
}
