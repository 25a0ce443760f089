// Phases of the program; a click selects the time window of one.

import type { ProgramGraph, ProgramPhase } from '../../answers/program';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { depthOf } from '../../depth';
import { ViewLink } from '../../links/view-link';
import { selection } from '../../state/address';
import { percent, seconds } from '../../units';

interface PhaseRow {
    phase: ProgramPhase;
    index: number;
    depth: number;
    /** Means over the ranks. */
    elapsed: number;
    computationShare: number;
    from: number;
    to: number;
}

export function Phases({ program }: { program: ProgramGraph }) {
    const rows = program.phases.map((phase, number) => phaseRow(program.phases, phase, number));
    const { from, to, viewParams } = selection.value;
    const max = Math.max(...rows.map(({ elapsed }) => elapsed), Number.MIN_VALUE);
    const columns: TableColumn<PhaseRow>[] = [
        {
            name: 'phase',
            value: ({ phase }) => phase.name,
            render: (row) => (
                <span
                    class={viewParams.phase === String(row.index) ? 'marked' : ''}
                    style={{ display: 'block', paddingLeft: `${row.depth}rem`, overflowWrap: 'anywhere' }}
                >
                    <ViewLink change={{ from: row.from, to: row.to }} title="Select its time window">
                        {row.phase.name}
                    </ViewLink>
                    {row.phase.repeats && <span class="muted"> loop</span>}
                    {row.from === from && row.to === to && ' ✓'}
                </span>
            ),
        },
        {
            name: 'time',
            unit: 's',
            description: 'Mean per rank',
            value: ({ elapsed }) => elapsed,
            render: ({ elapsed }) => seconds(elapsed),
            bar: ({ elapsed }) => elapsed / max,
        },
        { name: 'computation', value: ({ computationShare }) => computationShare, render: ({ computationShare }) => percent(computationShare) },
        {
            name: 'see',
            value: ({ from, to }) => `${from} to ${to}`,
            render: ({ phase, from, to }) => (
                <ViewLink view="timeline" change={{ from, to }} label={`Show ${phase.name} on the timeline`}>
                    timeline
                </ViewLink>
            ),
        },
    ];
    if (rows.length === 0) return null;
    return <TableFigure title="Phases" columns={columns} rows={rows} rowKey={({ index }) => String(index)} />;
}

function phaseRow(phases: ProgramPhase[], phase: ProgramPhase, number: number): PhaseRow {
    const count = Math.max(phase.ranks.length, 1);
    const elapsed = phase.ranks.reduce((sum, { elapsed_s }) => sum + elapsed_s, 0);
    const outside = phase.ranks.reduce((sum, { outside_s }) => sum + outside_s, 0);
    const nanoseconds = (value: number) => Math.round(1e9 * value);
    return {
        phase,
        index: number,
        depth: depthOf(phases, phase, (one) => one.parent),
        elapsed: elapsed / count,
        computationShare: outside / Math.max(elapsed, Number.MIN_VALUE),
        from: nanoseconds(phase.ranks.reduce((min, { begin_s }) => Math.min(min, begin_s), Infinity)),
        to: nanoseconds(phase.ranks.reduce((max, { end_s }) => Math.max(max, end_s), 0)),
    };
}
