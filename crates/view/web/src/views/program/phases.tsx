// The phases that all ranks go through: selecting one selects its window of time.

import type { Phase, Program } from '../../answers/program';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { depthOf } from '../../depth';
import { Go } from '../../links/go';
import { selection } from '../../state/address';
import { percent, seconds } from '../../units';

interface Row {
    phase: Phase;
    number: number;
    depth: number;
    /** Means over the ranks. */
    elapsed: number;
    outside: number;
    from: number;
    to: number;
}

export function Phases({ program }: { program: Program }) {
    const rows = program.phases.map((phase, number) => rowOf(program.phases, phase, number));
    const { from, to, own } = selection.value;
    const most = Math.max(...rows.map(({ elapsed }) => elapsed), Number.MIN_VALUE);
    const columns: Column<Row>[] = [
        {
            name: 'phase',
            value: ({ phase }) => phase.name,
            show: (row) => (
                <span class={own.phase === String(row.number) ? 'marked' : ''} style={{ display: 'block', paddingLeft: `${row.depth}rem` }}>
                    <Go change={{ from: row.from, to: row.to }} title="Select its window of time">
                        {row.phase.name}
                    </Go>
                    {row.phase.repeats && <span class="quiet"> loop</span>}
                    {row.from === from && row.to === to && ' ✓'}
                </span>
            ),
        },
        {
            name: 'time',
            unit: 's',
            says: 'Of a rank, on average',
            value: ({ elapsed }) => elapsed,
            show: ({ elapsed }) => seconds(elapsed),
            bar: ({ elapsed }) => elapsed / most,
        },
        { name: 'outside MPI', value: ({ outside }) => outside, show: ({ outside }) => percent(outside) },
        {
            name: 'see',
            value: ({ from, to }) => `${from} to ${to}`,
            show: ({ phase, from, to }) => (
                <Go view="timeline" change={{ from, to }} label={`Show ${phase.name} on the timeline`}>
                    timeline
                </Go>
            ),
        },
    ];
    if (rows.length === 0) return null;
    return <ListFigure title="Phases" columns={columns} rows={rows} name={({ number }) => String(number)} />;
}

function rowOf(phases: Phase[], phase: Phase, number: number): Row {
    const many = Math.max(phase.ranks.length, 1);
    const elapsed = phase.ranks.reduce((sum, { elapsed_s }) => sum + elapsed_s, 0);
    const outside = phase.ranks.reduce((sum, { outside_s }) => sum + outside_s, 0);
    const nanoseconds = (value: number) => Math.round(1e9 * value);
    return {
        phase,
        number,
        depth: depthOf(phases, phase, (one) => one.parent),
        elapsed: elapsed / many,
        outside: outside / Math.max(elapsed, Number.MIN_VALUE),
        from: nanoseconds(phase.ranks.reduce((least, { begin_s }) => Math.min(least, begin_s), Infinity)),
        to: nanoseconds(phase.ranks.reduce((most, { end_s }) => Math.max(most, end_s), 0)),
    };
}
