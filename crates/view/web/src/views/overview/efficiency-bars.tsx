// A tree of efficiencies as bars, in the page and as SVG.

import { useState } from 'preact/hooks';
import { cssColour } from '../../charts/colours';
import { GOOD, ratingColour } from '../../charts/rating';
import { svgElement } from '../../charts/svg';
import { percent } from '../../units';

/** An efficiency; those below it are deeper. */
export interface EfficiencyBar {
    name: string;
    depth: number;
    summary: string;
    explanation: string;
    share: number;
}

export function EfficiencyBars({ bars }: { bars: EfficiencyBar[] }) {
    return (
        <ul class="tree">
            {bars.map((bar, index) => (
                <EfficiencyRow key={`${index} ${bar.name}`} {...bar} />
            ))}
        </ul>
    );
}

function EfficiencyRow({ name, depth, summary, explanation, share }: EfficiencyBar) {
    const [open, setOpen] = useState(false);
    return (
        <li style={{ '--depth': depth }}>
            <div class="node">
                <button type="button" class="label" aria-expanded={open} onClick={() => setOpen(!open)} title={explanation}>
                    {name}
                </button>
                <span class="track" aria-hidden="true">
                    <span style={{ width: `${100 * Math.min(1, share)}%`, background: `var(${ratingColour(share)})` }} />
                    <span class="good" style={{ left: `${100 * GOOD}%` }} />
                </span>
                <span class="share">{percent(share)}</span>
                <span class="muted">{summary}</span>
            </div>
            {open && <p class="explanation">{explanation}</p>}
        </li>
    );
}

const ROW = 26;
const LABEL = 190;
const TRACK = 260;

/** The tree as SVG. */
export function efficiencySvg(bars: EfficiencyBar[]): SVGSVGElement {
    const font = { 'font-family': 'sans-serif', 'font-size': 13, fill: cssColour('--text') };
    const rows = bars.flatMap(({ name, depth, summary, share }, index) => {
        const y = index * ROW;
        return [
            svgElement('text', { ...font, x: 16 * depth, y: y + 17 }, name),
            svgElement('rect', { x: LABEL, y: y + 6, width: TRACK, height: 14, fill: cssColour('--surface') }),
            svgElement('rect', { x: LABEL, y: y + 6, width: TRACK * Math.min(1, share), height: 14, fill: cssColour(ratingColour(share)) }),
            svgElement('text', { ...font, x: LABEL + TRACK + 50, y: y + 17, 'text-anchor': 'end' }, percent(share)),
            svgElement('text', { ...font, x: LABEL + TRACK + 62, y: y + 17, fill: cssColour('--muted') }, summary),
        ];
    });
    return svgElement('svg', { width: LABEL + TRACK + 330, height: bars.length * ROW }, ...rows);
}
