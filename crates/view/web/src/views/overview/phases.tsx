// Efficiencies of each phase of the program.

import type { Efficiency, PhaseEfficiency } from '../../answers/report';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { depthOf } from '../../depth';
import { ViewLink } from '../../links/view-link';
import { percent, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

interface PhaseRow {
    phase: PhaseEfficiency;
    index: number;
    depth: number;
}

/** Only in a run whose ranks had no core for a part of their time. */
const NO_CORE: TableColumn<PhaseRow> = {
    name: 'no core',
    description: "Share of the ranks' time in it in which they were ready to run and had no core",
    value: ({ phase }) => phase.no_core,
    render: ({ phase }) => (phase.no_core === undefined ? '–' : percent(phase.no_core)),
};

export function Phases({ report }: OverviewProps) {
    const { phases, cores } = report;
    // With a single phase, the efficiencies are those of the run.
    if (phases.length < 2) return null;
    const max = Math.max(...phases.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const withoutCore = cores.statement !== null && cores.split !== null;
    const rows = phases.map((phase, index) => ({ phase, index, depth: depthOf(phases, phase, (one) => one.part_of) }));
    const share = (name: string, key: keyof Efficiency): TableColumn<PhaseRow> => ({
        name,
        value: ({ phase }) => phase.efficiency?.[key],
        render: ({ phase }) => {
            const value = phase.efficiency?.[key];
            return value === null || value === undefined ? '–' : percent(value);
        },
    });
    const columns: TableColumn<PhaseRow>[] = [
        {
            name: 'phase',
            value: ({ phase }) => phase.name,
            render: ({ phase, index, depth }) => (
                <span style={{ display: 'block', paddingLeft: `${depth}rem` }}>
                    <ViewLink view="program" change={{ viewParams: { phase: String(index) } }} title="Show it in the program">
                        {phase.name}
                    </ViewLink>
                    {phase.repeats && <span class="muted"> loop</span>}
                </span>
            ),
        },
        {
            name: 'time',
            unit: 's',
            description: 'Longest time of any rank, without MPI_Init and MPI_Finalize',
            value: ({ phase }) => phase.seconds,
            render: ({ phase }) => seconds(phase.seconds),
            bar: ({ phase }) => phase.seconds / max,
        },
        ...(withoutCore ? [NO_CORE] : []),
        share('parallel efficiency', 'parallel'),
        share('load balance', 'load_balance'),
        // Ranks without a core delay the others: then communication is not judged.
        ...(withoutCore ? [] : [share('communication', 'communication'), share('serialisation', 'serialisation'), share('transfer', 'transfer')]),
    ];
    return <TableFigure title="Phases of the program" columns={columns} rows={rows} rowKey={({ index }) => String(index)} />;
}
