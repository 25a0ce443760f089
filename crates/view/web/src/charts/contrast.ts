// Black or white text, whichever is readable on a colour.

/** Text colour for a background given as `#0072b2` or `rgb(0, 114, 178)`. */
export function textColourOn(colour: string): string {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => linearChannel(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#000000' : '#ffffff';
}

function channels(colour: string): number[] {
    if (colour.startsWith('#')) return [1, 3, 5].map((index) => Number.parseInt(colour.slice(index, index + 2), 16));
    return (colour.match(/[\d.]+/g) ?? []).map(Number);
}

/** Linear value of an sRGB channel. */
const linearChannel = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
