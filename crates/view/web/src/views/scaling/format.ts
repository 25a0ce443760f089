// Formats values of a model.

import { seconds, threeDigits } from '../../units';

export const formatValue = (number: number, unit: string): string => (unit === 's' ? seconds(number) : `${threeDigits(number)} ${unit}`);

export const formatParameter = (number: number): string => String(Math.round(1000 * number) / 1000);
