// The tree of efficiencies: each is the product of its children.

import type { Efficiency, Report } from '../../answers/report';
import { Figure } from '../../charts/figure';
import { GOOD } from '../../charts/rating';
import { percent, seconds } from '../../units';
import { type EfficiencyBar, EfficiencyBars, efficiencySvg } from './efficiency-bars';
import { threadNotes } from './thread-notes';

interface EfficiencyNode extends Omit<EfficiencyBar, 'share'> {
    metric: keyof Efficiency;
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

export function EfficiencyTree({ report }: { report: Pick<Report, 'efficiency' | 'work_s' | 'threads' | 'cores'> }) {
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
            svg={() => efficiencySvg(nodes)}
        >
            <EfficiencyBars bars={nodes} />
        </Figure>
    );
}
