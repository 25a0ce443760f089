// Rating of efficiencies, the same in all views.

/** Efficiencies from here on are usually considered good. */
export const GOOD = 0.8;
const FAIR = 0.5;

/** CSS variable of the rating's colour. The value is always shown as text, too. */
export const ratingColour = (share: number): string => (share >= GOOD ? '--good' : share >= FAIR ? '--fair' : '--poor');
