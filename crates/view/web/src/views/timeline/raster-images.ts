// Images of rasters with one pixel per cell, scaled by the canvas. Cached per raster and theme.

import { cssColour } from '../../charts/colours';
import type { Raster } from './timeline-data';

const imageCache = new WeakMap<Raster, Map<string, HTMLCanvasElement>>();

function cachedImage(raster: Raster, key: string, fill: (points: Uint32Array) => void): HTMLCanvasElement {
    const cached = imageCache.get(raster) ?? new Map<string, HTMLCanvasElement>();
    imageCache.set(raster, cached);
    const found = cached.get(key);
    if (found) return found;
    const image = document.createElement('canvas');
    image.width = Math.max(1, raster.columns);
    image.height = Math.max(1, raster.rows.length);
    const context = image.getContext('2d');
    const data = context?.createImageData(image.width, image.height);
    if (data) {
        fill(new Uint32Array(data.data.buffer));
        context?.putImageData(data, 0, 0);
    }
    // Themes change rarely, and images of other themes are no longer needed.
    if (cached.size > 6) cached.clear();
    cached.set(key, image);
    return image;
}

/** Opacity for a share from 0 to 255. */
const opacityOf = (share: number): number => 0.25 + 0.75 * (share / 255);

/** Kinds of activity in OpenMP regions. */
const REGION_KINDS = new Set(['parallel', 'barrier', 'lock', 'runtime', 'idle']);

/** What is drawn behind single calls: computation in place of MPI. */
export const behindCallsKind = (kind: string): string => (kind === 'absent' || REGION_KINDS.has(kind) ? kind : 'computing');

/** Opacity of a kind with a share from 0 to 255. Behind single calls, computation is opaque. */
export const kindOpacity = (kind: string, share: number, behindCalls: boolean): number =>
    behindCalls && !REGION_KINDS.has(kind) ? 1 : opacityOf(share);

/** Image of the dominant kind of each cell; its share is the opacity. Behind single calls only what is outside MPI is drawn. */
export function activityImage(raster: Raster, hiddenKinds: Set<string>, behindCalls: boolean): HTMLCanvasElement {
    const colours = raster.kinds.map((kind) => {
        const drawn = behindCalls ? behindCallsKind(kind) : kind;
        return hiddenKinds.has(drawn) || drawn === 'absent' ? undefined : parseRgb(cssColour(`--${drawn}`));
    });
    const key = `ground ${behindCalls} ${JSON.stringify(colours)}`;
    return cachedImage(raster, key, (points) => {
        const shades = colours.map(
            (found, index) => found && shadeTable(found, (share) => 255 * kindOpacity(raster.kinds[index] ?? '', share, behindCalls)),
        );
        for (let cell = 0; cell < points.length; cell++) points[cell] = shades[raster.kind[cell] ?? 0]?.[raster.share[cell] ?? 0] ?? 0;
    });
}

/** Image of a plane in one colour, with the values as opacity. */
export function planeImage(raster: Raster, plane: Uint8Array, variable: string): HTMLCanvasElement {
    const value = parseRgb(cssColour(variable));
    return cachedImage(raster, `${variable} ${value.join()}`, (points) => {
        const shades = shadeTable(value, (much) => much);
        for (let cell = 0; cell < points.length; cell++) points[cell] = shades[plane[cell] ?? 0] ?? 0;
    });
}

/** A colour with each of 256 opacities, as pixel values. */
function shadeTable([red, green, blue]: [number, number, number], opacity: (value: number) => number): Uint32Array {
    const points = new Uint8ClampedArray(4 * 256);
    for (let value = 0; value < 256; value++) points.set([red, green, blue, opacity(value)], 4 * value);
    return new Uint32Array(points.buffer);
}

function parseRgb(text: string): [number, number, number] {
    const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue];
}
