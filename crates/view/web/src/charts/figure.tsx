// The frame of every chart: its title, what it shows, and buttons that save the picture as SVG and its data as CSV.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { csv, type Table } from './csv';
import './figure.css';
import { type Entry, Legend } from './legend';
import { fileName, save } from './save';
import { picture } from './svg';

interface Props {
    title: string;
    /** One sentence about what is seen, for those who see it for the first time. */
    says?: string;
    legend?: Entry[];
    /** The data of the chart. */
    table?: () => Table;
    /** The chart as a picture, for those who draw on a canvas; else the first picture inside is taken. `null`: there is none. */
    svg?: (() => SVGSVGElement) | null;
    /** More controls, beside the buttons. */
    controls?: ComponentChildren;
    children: ComponentChildren;
}

export function Figure({ title, says, legend = [], table, svg, controls, children }: Props) {
    const body = useRef<HTMLDivElement>(null);
    const name = fileName(title);
    const saveSvg = () => {
        const shown = svg ? svg() : body.current?.querySelector('svg');
        if (shown) save(picture(title, legend, shown), `${name}.svg`, 'image/svg+xml');
    };
    return (
        <figure class="figure">
            <figcaption>
                <h2>{title}</h2>
                {controls}
                <span class="save">
                    {svg !== null && (
                        <button type="button" onClick={saveSvg} aria-label={`Save “${title}” as SVG`} title="Save the picture">
                            SVG
                        </button>
                    )}
                    {table && (
                        <button
                            type="button"
                            onClick={() => save(csv(table()), `${name}.csv`, 'text/csv')}
                            aria-label={`Save the data of “${title}” as CSV`}
                            title="Save the data"
                        >
                            CSV
                        </button>
                    )}
                </span>
            </figcaption>
            {says && <p class="says">{says}</p>}
            {legend.length > 0 && <Legend entries={legend} />}
            <div ref={body} class="body">
                {children}
            </div>
        </figure>
    );
}
