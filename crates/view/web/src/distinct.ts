// Names that tell things apart, also where two are called the same.

/** The names; those that stand there more than once have their number before them. */
export function distinct(names: string[]): string[] {
    return names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${at + 1}: ${name}`));
}
