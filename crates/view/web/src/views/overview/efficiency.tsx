// The efficiencies as a tree: each is the product of those below it.

import { useState } from 'preact/hooks';
import type { Efficiency } from '../../answers/report';
import { colour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { GOOD, goodness } from '../../charts/goodness';
import { element } from '../../charts/svg';
import { percent, seconds } from '../../units';
import type { Part } from './part';

interface Node {
    figure: keyof Efficiency;
    name: string;
    depth: number;
    says: string;
    more: string;
}

const NODES: Node[] = [
    {
        figure: 'parallel',
        name: 'Parallel efficiency',
        depth: 0,
        says: 'of the ranks’ time is computation',
        more:
            'The mean time of a rank outside MPI over the time from the first rank that left MPI_Init to the last that entered MPI_Finalize. ' +
            'It is load balance × communication.',
    },
    {
        figure: 'load_balance',
        name: 'Load balance',
        depth: 1,
        says: 'how evenly it is shared',
        more:
            'The mean time outside MPI over the most. ' +
            'Less means that some ranks have more to compute than others, who wait for them: share the work differently.',
    },
    {
        figure: 'communication',
        name: 'Communication',
        depth: 1,
        says: 'what MPI leaves to the busiest rank',
        more:
            'The most time outside MPI over the whole. ' +
            'Less means that even the busiest rank waits for messages, or moves much data. It is serialisation × transfer.',
    },
    {
        figure: 'serialisation',
        name: 'Serialisation',
        depth: 2,
        says: 'what waiting for each other leaves',
        more:
            'The most time outside MPI over the time that the run would take on an ideal network. ' +
            'Less means that ranks wait for each other, whatever the network.',
    },
    {
        figure: 'transfer',
        name: 'Transfer',
        depth: 2,
        says: 'what moving the data leaves',
        more:
            'The time on an ideal network over the time as it was. ' +
            'Less means that moving data, and MPI itself, takes long: send less, send larger messages, or compute meanwhile.',
    },
];

export function Tree({ report }: Part) {
    const { efficiency, work_s } = report;
    if (!efficiency) return null;
    const nodes = NODES.flatMap((node) => {
        const share = efficiency[node.figure];
        return share === null ? [] : [{ ...node, share }];
    });
    return (
        <Figure
            title="Efficiency"
            says={`Over the ${seconds(work_s)} between MPI_Init and MPI_Finalize. From ${percent(GOOD)} on it is usually called good.`}
            table={() => ({ columns: ['efficiency', 'share'], rows: nodes.map(({ name, share }) => [name, share]) })}
            svg={() => drawn(nodes)}
        >
            <ul class="tree">
                {nodes.map((node) => (
                    <Row key={node.name} {...node} />
                ))}
            </ul>
        </Figure>
    );
}

function Row({ name, depth, says, more, share }: Node & { share: number }) {
    const [open, setOpen] = useState(false);
    return (
        <li style={{ '--depth': depth }}>
            <div class="node">
                <button type="button" class="label" aria-expanded={open} onClick={() => setOpen(!open)} title={more}>
                    {name}
                </button>
                <span class="track" aria-hidden="true">
                    <span style={{ width: `${100 * Math.min(1, share)}%`, background: `var(${goodness(share)})` }} />
                    <span class="good" style={{ left: `${100 * GOOD}%` }} />
                </span>
                <span class="share">{percent(share)}</span>
                <span class="quiet">{says}</span>
            </div>
            {open && <p class="more-about">{more}</p>}
        </li>
    );
}

const ROW = 26;
const LABEL = 190;
const TRACK = 260;

/** The same as a picture. */
function drawn(nodes: (Node & { share: number })[]): SVGSVGElement {
    const font = { 'font-family': 'sans-serif', 'font-size': 13, fill: colour('--text') };
    const rows = nodes.flatMap(({ name, depth, says, share }, at) => {
        const y = at * ROW;
        return [
            element('text', { ...font, x: 16 * depth, y: y + 17 }, name),
            element('rect', { x: LABEL, y: y + 6, width: TRACK, height: 14, fill: colour('--raised') }),
            element('rect', { x: LABEL, y: y + 6, width: TRACK * Math.min(1, share), height: 14, fill: colour(goodness(share)) }),
            element('text', { ...font, x: LABEL + TRACK + 50, y: y + 17, 'text-anchor': 'end' }, percent(share)),
            element('text', { ...font, x: LABEL + TRACK + 62, y: y + 17, fill: colour('--quiet') }, says),
        ];
    });
    return element('svg', { width: LABEL + TRACK + 330, height: nodes.length * ROW }, ...rows);
}
