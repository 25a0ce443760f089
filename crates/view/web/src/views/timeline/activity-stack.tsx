// The time of each activity in the window, over all rows: stacked, with the time axis of the rows below.

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { cssColour } from '../../charts/colours';
import { effectiveTheme } from '../../state/theme';
import { bestRaster, type Scene, timeToX } from './scene';
import type { TimelineController } from './timeline-controller';
import { cellDuration, type Raster } from './timeline-data';

const HEIGHT = 56;

export function ActivityStack({ controller }: { controller: TimelineController }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    useEffect(
        () =>
            effect(() => {
                void effectiveTheme.value;
                const scene = controller.scene.value;
                const raster = bestRaster(scene.rasters, scene.span);
                const context = canvas.current?.getContext('2d');
                if (!canvas.current || !context || !raster || scene.width <= scene.gutter) return;
                const pixelRatio = devicePixelRatio || 1;
                canvas.current.width = Math.round(scene.width * pixelRatio);
                canvas.current.height = Math.round(HEIGHT * pixelRatio);
                context.scale(pixelRatio, pixelRatio);
                paintStack(context, scene, raster);
            }),
        [controller],
    );
    return (
        <canvas
            ref={canvas}
            class="timeline-stack"
            role="img"
            aria-label="Time of each activity in the window, over all rows, stacked"
            style={{ height: `${HEIGHT}px` }}
        />
    );
}

/** Draws each kind from the bottom, computation first. Hidden kinds leave a gap. */
function paintStack(context: CanvasRenderingContext2D, scene: Scene, raster: Raster): void {
    const order = stackOrder(raster.kinds);
    const fills = raster.kinds.map((kind) => (kind === 'absent' || scene.hiddenKinds.has(kind) ? undefined : cssColour(`--${kind}`)));
    const duration = cellDuration(raster);
    context.save();
    context.beginPath();
    context.rect(scene.gutter, 0, scene.width - scene.gutter, HEIGHT);
    context.clip();
    for (let column = 0; column < raster.columns; column++) {
        const begin = raster.span.from + column * duration;
        if (begin > scene.span.to || begin + duration < scene.span.from) continue;
        const left = timeToX(scene, begin);
        const width = Math.max(0.5, timeToX(scene, begin + duration) - left);
        let bottom = HEIGHT;
        for (const kind of order) {
            const height = (HEIGHT * (raster.activity[column * raster.kinds.length + kind] ?? 0)) / 255;
            const fill = fills[kind];
            bottom -= height;
            if (fill === undefined || height <= 0) continue;
            context.fillStyle = fill;
            context.fillRect(left, bottom, width, height);
        }
    }
    context.restore();
}

/** Indices of kinds: computation at the bottom, absence at the top. */
export function stackOrder(kinds: string[]): number[] {
    const rank = (kind: string) => (kind === 'absent' ? 2 : ['computing', 'parallel'].includes(kind) ? 0 : 1);
    return kinds.map((_, index) => index).sort((one, other) => rank(kinds[one] ?? '') - rank(kinds[other] ?? '') || one - other);
}
