// Colours of the series of a chart, the most distinguishable first. When they run out they repeat, paler or dashed.

const COLOURS = ['--sending', '--collective', '--one-sided', '--completing', '--receiving', '--waiting', '--other'];

export interface SeriesStyle {
    /** A CSS variable. */
    variable: string;
    /** Whether the colour is already used by another series. */
    isRepeated: boolean;
}

export const seriesStyle = (number: number): SeriesStyle => ({
    variable: COLOURS[number % COLOURS.length] ?? '--other',
    isRepeated: number >= COLOURS.length,
});

export const dashPattern = ({ isRepeated }: SeriesStyle): string | undefined => (isRepeated ? '5 3' : undefined);
