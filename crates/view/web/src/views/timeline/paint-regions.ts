// Draws the OpenMP regions of threads on the canvas.

import { cssColour } from '../../charts/colours';
import { textColourOn } from '../../charts/contrast';
import { regionBoxes } from './region-boxes';
import type { Scene } from './scene';

/** Narrower regions have no line at their begin. */
const MIN_SEPARATED_WIDTH = 8;
const LABEL_MARGIN = 4;

/** Draws regions and, in the row of the first thread, where they are in the source. */
export function paintRegions(context: CanvasRenderingContext2D, scene: Scene, fontSize: number): void {
    const background = cssColour('--background');
    const textColour = textColourOn(cssColour('--parallel'));
    context.textBaseline = 'middle';
    for (const { region, thread, x, y, width, height, rects } of regionBoxes(scene)) {
        context.clearRect(x, y, width, height);
        for (const rect of rects) {
            context.fillStyle = cssColour(`--${rect.kind}`);
            context.fillRect(rect.x, rect.y, rect.width, rect.height);
        }
        if (width < MIN_SEPARATED_WIDTH) continue;
        context.fillStyle = background;
        context.fillRect(x, y, 1, height);
        const from = Math.max(x, scene.gutter) + LABEL_MARGIN;
        const label = scene.regionName(region.site);
        if (thread !== 0 || height < fontSize || context.measureText(label).width > Math.min(x + width, scene.width) - from - LABEL_MARGIN) continue;
        context.fillStyle = textColour;
        context.fillText(label, from, y + height / 2 + 1);
    }
}
