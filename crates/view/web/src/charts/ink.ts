// Letters on a colour: black or white, whichever can be read.

/** The ink for a colour, written as `#0072b2` or as `rgb(0, 114, 178)`. */
export function inkOn(colour: string): string {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#000000' : '#ffffff';
}

function channels(colour: string): number[] {
    if (colour.startsWith('#')) return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
    return (colour.match(/[\d.]+/g) ?? []).map(Number);
}

/** How much light a share of a channel comes to. */
const linear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
