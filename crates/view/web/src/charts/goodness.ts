// How good an efficiency is, the same in all views.

/** From here on it is usually called good. */
export const GOOD = 0.8;
const FAIR = 0.5;

/** The colour of good, fair or poor, a variable of style.css: the figures beside say it too. */
export const goodness = (share: number): string => (share >= GOOD ? '--good' : share >= FAIR ? '--fair' : '--poor');
