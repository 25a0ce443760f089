// A plain chart, drawn by Observable Plot as wide as its place, again when that or the theme changes.

import * as Plot from '@observablehq/plot';
import { useLayoutEffect } from 'preact/hooks';
import { look } from '../state/theme';
import { colour } from './colours';
import { growth } from './growth';
import { useWidth } from './width';

/** The size of letters, in pixels. */
const LETTERS = 12;
/** Room for the marks of the x axis and its name below them. */
const BELOW = 38;

interface Props {
    /** What the chart shows, for those who cannot see it. */
    label: string;
    /** What to draw in a width; `colour` gives values of variables. Keep it (useCallback) where the same is drawn often. */
    draw: (width: number, colour: (variable: string) => string) => Plot.PlotOptions;
    /** What to do with the place on the x axis that was clicked; the same must be there for the keyboard elsewhere. */
    choose?: (x: number) => void;
}

export function Chart({ label, draw, choose }: Props) {
    const [place, width] = useWidth<HTMLDivElement>();
    const shade = look.value;
    useLayoutEffect(() => {
        if (width <= 0) return;
        const options = draw(width, colour);
        const larger = growth();
        const marginLeft = options.marginLeft && options.marginLeft * larger;
        const height = options.height && options.height * larger;
        const size = { width, height, marginLeft, marginBottom: BELOW * larger, style: { fontSize: `${LETTERS * larger}px` } };
        const chart = Plot.plot({ ...options, ...size });
        chart.setAttribute('role', 'img');
        chart.setAttribute('aria-label', label);
        // A group of marks has no role that could have a name.
        for (const group of chart.querySelectorAll('g[aria-label]')) group.removeAttribute('aria-label');
        if (choose) {
            chart.style.cursor = 'pointer';
            chart.addEventListener('click', (event) => {
                if (event instanceof MouseEvent) choose(Number(chart.scale('x')?.invert?.(event.clientX - chart.getBoundingClientRect().left)));
            });
        }
        place.current?.replaceChildren(chart);
    }, [width, shade, draw, label, choose]);
    return <div ref={place} class="chart" />;
}
