// The tree of efficiencies: each is the product of its children.

import { useState } from 'preact/hooks';
import type { Efficiency } from '../../answers/report';
import { cssColour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { GOOD, ratingColour } from '../../charts/rating';
import { svgElement } from '../../charts/svg';
import { percent, seconds } from '../../units';
import type { OverviewProps } from './overview-props';
import { threadNotes } from './thread-notes';

interface EfficiencyNode {
    metric: keyof Efficiency;
    name: string;
    depth: number;
    summary: string;
    explanation: string;
}

const NODES: EfficiencyNode[] = [
    {
        metric: 'parallel',
        name: 'Parallel efficiency',
        depth: 0,
        summary: 'of the ranks’ time is computation',
        explanation:
            'Mean computation time of a rank, divided by the time from the first end of MPI_Init to the last start of MPI_Finalize. ' +
            'It is load balance × communication.',
    },
    {
        metric: 'load_balance',
        name: 'Load balance',
        depth: 1,
        summary: 'how evenly it is distributed',
        explanation:
            'Mean computation time divided by the maximum. ' +
            'A low value means that some ranks compute more than others, which wait for them: distribute the work differently.',
    },
    {
        metric: 'communication',
        name: 'Communication',
        depth: 1,
        summary: 'what MPI leaves of the busiest rank’s time',
        explanation:
            'Maximum computation time divided by the whole time. ' +
            'A low value means that even the busiest rank waits for messages or moves much data. It is serialisation × transfer.',
    },
    {
        metric: 'serialisation',
        name: 'Serialisation',
        depth: 2,
        summary: 'loss by dependencies between ranks',
        explanation:
            'Maximum computation time divided by the time on an ideal network. ' +
            'A low value means that ranks wait for each other, whatever the network.',
    },
    {
        metric: 'transfer',
        name: 'Transfer',
        depth: 2,
        summary: 'loss by data transfer',
        explanation:
            'Time on an ideal network divided by the measured time. ' +
            'A low value means that data transfer and MPI overhead take long: send less, send larger messages, or overlap with computation.',
    },
];

export function EfficiencyTree({ report }: OverviewProps) {
    const { efficiency, work_s, threads } = report;
    if (!efficiency) return null;
    // Ranks without a core delay the others: only what is measured on cores is shown.
    const isJudged = ({ metric }: EfficiencyNode) => report.cores.statement === null || metric === 'parallel' || metric === 'load_balance';
    const nodes = NODES.filter(isJudged).flatMap((node) => {
        const share = efficiency[node.metric];
        return share === null ? [] : [{ ...node, share }];
    });
    return (
        <Figure
            title="Efficiency"
            description={[
                `Over the ${seconds(work_s)} between MPI_Init and MPI_Finalize. ${percent(GOOD)} or more is usually considered good.`,
                ...threadNotes(threads),
            ].join(' ')}
            table={() => ({ columns: ['efficiency', 'share'], rows: nodes.map(({ name, share }) => [name, share]) })}
            svg={() => treeSvg(nodes)}
        >
            <ul class="tree">
                {nodes.map((node) => (
                    <EfficiencyRow key={node.name} {...node} />
                ))}
            </ul>
        </Figure>
    );
}

function EfficiencyRow({ name, depth, summary, explanation, share }: EfficiencyNode & { share: number }) {
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
function treeSvg(nodes: (EfficiencyNode & { share: number })[]): SVGSVGElement {
    const font = { 'font-family': 'sans-serif', 'font-size': 13, fill: cssColour('--text') };
    const rows = nodes.flatMap(({ name, depth, summary, share }, index) => {
        const y = index * ROW;
        return [
            svgElement('text', { ...font, x: 16 * depth, y: y + 17 }, name),
            svgElement('rect', { x: LABEL, y: y + 6, width: TRACK, height: 14, fill: cssColour('--surface') }),
            svgElement('rect', { x: LABEL, y: y + 6, width: TRACK * Math.min(1, share), height: 14, fill: cssColour(ratingColour(share)) }),
            svgElement('text', { ...font, x: LABEL + TRACK + 50, y: y + 17, 'text-anchor': 'end' }, percent(share)),
            svgElement('text', { ...font, x: LABEL + TRACK + 62, y: y + 17, fill: cssColour('--muted') }, summary),
        ];
    });
    return svgElement('svg', { width: LABEL + TRACK + 330, height: nodes.length * ROW }, ...rows);
}
