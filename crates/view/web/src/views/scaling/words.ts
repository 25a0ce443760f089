// Values of a model for people.

import { figures, seconds } from '../../units';

/** A value with its unit. */
export const value = (number: number, unit: string): string => (unit === 's' ? seconds(number) : `${figures(number)} ${unit}`);

/** A value of a parameter. */
export const plain = (number: number): string => String(Math.round(1000 * number) / 1000);
