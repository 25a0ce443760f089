// The efficiencies of each phase of the program.

import type { Efficiency, PhaseEfficiency } from '../../answers/report';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { depthOf } from '../../depth';
import { Go } from '../../links/go';
import { percent, seconds } from '../../units';
import type { Part } from './part';

interface Row {
    phase: PhaseEfficiency;
    number: number;
    depth: number;
}

export function Phases({ report }: Part) {
    const { phases } = report;
    // A program of one phase has the efficiencies of the run.
    if (phases.length < 2) return null;
    const most = Math.max(...phases.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const rows = phases.map((phase, number) => ({ phase, number, depth: depthOf(phases, phase, (one) => one.part_of) }));
    const share = (name: string, key: keyof Efficiency): Column<Row> => ({
        name,
        value: ({ phase }) => phase.efficiency?.[key],
        show: ({ phase }) => {
            const value = phase.efficiency?.[key];
            return value === null || value === undefined ? '–' : percent(value);
        },
    });
    const columns: Column<Row>[] = [
        {
            name: 'phase',
            value: ({ phase }) => phase.name,
            show: ({ phase, number, depth }) => (
                <span style={{ display: 'block', paddingLeft: `${depth}rem` }}>
                    <Go view="program" change={{ own: { phase: String(number) } }} title="Show it in the program">
                        {phase.name}
                    </Go>
                    {phase.repeats && <span class="quiet"> loop</span>}
                </span>
            ),
        },
        {
            name: 'time',
            unit: 's',
            says: 'The longest that any rank stayed in it, MPI_Init and MPI_Finalize left out',
            value: ({ phase }) => phase.seconds,
            show: ({ phase }) => seconds(phase.seconds),
            bar: ({ phase }) => phase.seconds / most,
        },
        share('parallel', 'parallel'),
        share('load balance', 'load_balance'),
        share('communication', 'communication'),
        share('serialisation', 'serialisation'),
        share('transfer', 'transfer'),
    ];
    return <ListFigure title="Phases of the program" columns={columns} rows={rows} name={({ number }) => String(number)} />;
}
