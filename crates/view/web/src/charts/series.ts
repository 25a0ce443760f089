// Colours for several things in one chart: those that are told apart best come first. Beyond the last they come again, paler or dashed.

const COLOURS = ['--sending', '--collective', '--one-sided', '--completing', '--receiving', '--waiting', '--other'];

export interface Style {
    /** A variable of style.css. */
    variable: string;
    /** Whether another one has the same colour already. */
    again: boolean;
}

/** How the thing of a number is drawn. */
export const styleOf = (number: number): Style => ({ variable: COLOURS[number % COLOURS.length] ?? '--other', again: number >= COLOURS.length });

/** The dashes of a line. */
export const dashes = ({ again }: Style): string | undefined => (again ? '5 3' : undefined);
