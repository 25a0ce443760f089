// Frame of every chart: title, description, and buttons that save it as SVG and its data as CSV.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { type CsvTable, toCsv } from './csv';
import './figure.css';
import { downloadFile, fileName } from './download';
import { Legend, type LegendEntry } from './legend';
import { standaloneSvg } from './svg';

interface Props {
    title: string;
    /** One sentence for first-time readers. */
    description?: string;
    legend?: LegendEntry[];
    table?: () => CsvTable;
    /** Exports the chart as SVG, for charts drawn on a canvas. By default the first `svg` inside is exported; `null` disables the export. */
    svg?: (() => SVGSVGElement) | null;
    /** Additional controls beside the buttons. */
    controls?: ComponentChildren;
    children: ComponentChildren;
}

export function Figure({ title, description, legend = [], table, svg, controls, children }: Props) {
    const body = useRef<HTMLDivElement>(null);
    const name = fileName(title);
    const saveSvg = () => {
        const shown = svg ? svg() : body.current?.querySelector('svg');
        if (shown) downloadFile(standaloneSvg(title, legend, shown), `${name}.svg`, 'image/svg+xml');
    };
    return (
        <figure class="figure">
            <figcaption>
                <h2>{title}</h2>
                {controls}
                <span class="save">
                    {svg !== null && (
                        <button type="button" onClick={saveSvg} aria-label={`Save “${title}” as SVG`} title="Save as SVG">
                            SVG
                        </button>
                    )}
                    {table && (
                        <button
                            type="button"
                            onClick={() => downloadFile(toCsv(table()), `${name}.csv`, 'text/csv')}
                            aria-label={`Save the data of “${title}” as CSV`}
                            title="Save the data as CSV"
                        >
                            CSV
                        </button>
                    )}
                </span>
            </figcaption>
            {description && <p class="description">{description}</p>}
            {legend.length > 0 && <Legend entries={legend} />}
            <div ref={body} class="body">
                {children}
            </div>
        </figure>
    );
}
