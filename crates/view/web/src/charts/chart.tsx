// A chart drawn by Observable Plot at the width of its container; redrawn when the width or the theme changes.

import * as Plot from '@observablehq/plot';
import { useLayoutEffect } from 'preact/hooks';
import { effectiveTheme } from '../state/theme';
import { cssColour } from './colours';
import { fontScale } from './font-scale';
import { useWidth } from './use-width';

/** In pixels. */
const FONT_SIZE = 12;
/** Height of the x axis, its ticks and its label. */
const BOTTOM_MARGIN = 38;

interface Props {
    /** Text alternative for screen readers. */
    label: string;
    /** Plot options for a width; `colour` resolves CSS variables. Memoise it (useCallback). */
    draw: (width: number, colour: (variable: string) => string) => Plot.PlotOptions;
    /** Called with the x value of a click. The same action must also be available from the keyboard. */
    choose?: (x: number) => void;
}

export function Chart({ label, draw, choose }: Props) {
    const [container, width] = useWidth<HTMLDivElement>();
    const theme = effectiveTheme.value;
    useLayoutEffect(() => {
        if (width <= 0) return;
        const options = draw(width, cssColour);
        const scale = fontScale();
        const marginLeft = options.marginLeft && options.marginLeft * scale;
        const height = options.height && options.height * scale;
        const size = { width, height, marginLeft, marginBottom: BOTTOM_MARGIN * scale, style: { fontSize: `${FONT_SIZE * scale}px` } };
        const chart = Plot.plot({ ...options, ...size });
        chart.setAttribute('role', 'img');
        chart.setAttribute('aria-label', label);
        // A group of marks has no ARIA role that allows a name.
        for (const group of chart.querySelectorAll('g[aria-label]')) group.removeAttribute('aria-label');
        if (choose) {
            chart.style.cursor = 'pointer';
            chart.addEventListener('click', (event) => {
                if (event instanceof MouseEvent) choose(Number(chart.scale('x')?.invert?.(event.clientX - chart.getBoundingClientRect().left)));
            });
        }
        container.current?.replaceChildren(chart);
    }, [width, theme, draw, label, choose]);
    return <div ref={container} class="chart" />;
}
