// The cells of a picture as images of one point per cell, which a canvas stretches at once: made once for each picture and look.

import { colour } from '../../charts/colours';
import type { Picture } from './answers';

const made = new WeakMap<Picture, Map<string, HTMLCanvasElement>>();

function once(picture: Picture, key: string, fill: (points: Uint32Array) => void): HTMLCanvasElement {
    const known = made.get(picture) ?? new Map<string, HTMLCanvasElement>();
    made.set(picture, known);
    const found = known.get(key);
    if (found) return found;
    const image = document.createElement('canvas');
    image.width = Math.max(1, picture.columns);
    image.height = Math.max(1, picture.rows.length);
    const context = image.getContext('2d');
    const data = context?.createImageData(image.width, image.height);
    if (data) {
        fill(new Uint32Array(data.data.buffer));
        context?.putImageData(data, 0, 0);
    }
    // Looks change seldom, and what was made for another one is not needed any more.
    if (known.size > 6) known.clear();
    known.set(key, image);
    return image;
}

/** How strong a colour is for a share of 0 to 255. */
export const strength = (share: number): number => 0.25 + 0.75 * (share / 255);

/** The colour of the kind that took most of each cell, the stronger the more it took. Behind single calls only what is between them is drawn. */
export function ground(picture: Picture, off: Set<string>, behindCalls: boolean): HTMLCanvasElement {
    const colours = picture.kinds.map((kind) => {
        if (off.has(behindCalls && kind !== 'absent' ? 'computing' : kind) || kind === 'absent') return undefined;
        return rgb(colour(behindCalls ? '--computing' : `--${kind}`));
    });
    const key = `ground ${behindCalls} ${JSON.stringify(colours)}`;
    return once(picture, key, (points) => {
        const shades = colours.map((found) => found && shadesOf(found, behindCalls ? () => 255 : (share) => 255 * strength(share)));
        for (let cell = 0; cell < points.length; cell++) points[cell] = shades[picture.kind[cell] ?? 0]?.[picture.share[cell] ?? 0] ?? 0;
    });
}

/** A plane in one colour, as opaque as it says. */
export function strip(picture: Picture, plane: Uint8Array, variable: string): HTMLCanvasElement {
    const value = rgb(colour(variable));
    return once(picture, `${variable} ${value.join()}`, (points) => {
        const shades = shadesOf(value, (much) => much);
        for (let cell = 0; cell < points.length; cell++) points[cell] = shades[plane[cell] ?? 0] ?? 0;
    });
}

/** A colour for each of 256 values, as points of an image hold it. */
function shadesOf([red, green, blue]: [number, number, number], opacity: (value: number) => number): Uint32Array {
    const points = new Uint8ClampedArray(4 * 256);
    for (let value = 0; value < 256; value++) points.set([red, green, blue, opacity(value)], 4 * value);
    return new Uint32Array(points.buffer);
}

function rgb(text: string): [number, number, number] {
    const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue];
}
