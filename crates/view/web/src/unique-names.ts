// Makes names unique.

/** Prefixes duplicate names with their number. */
export function uniqueNames(names: string[]): string[] {
    return names.map((name, index) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${index + 1}: ${name}`));
}
