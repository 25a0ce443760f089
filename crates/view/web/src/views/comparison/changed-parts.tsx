// Parts of the program that take longer or shorter than in the first run, as in `sintonia report A B`.

import { useMemo } from 'preact/hooks';
import type { ChangedPart, ComparedParts } from '../../answers/comparison';
import { DataTable, type TableColumn, toCsvTable } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { seconds, signedSeconds } from '../../units';

const BASES = { mean_of_ranks: 'mean of the ranks', all_ranks: 'sum over the ranks' };

export function ChangedParts({ parts, names }: { parts: ComparedParts; names: string[] }) {
    const columns = useMemo(() => tableColumns(names), [names.join('\n')]);
    const description = `Computation and MPI calls, ${BASES[parts.base]}; largest change first.`;
    if (parts.changes.length === 0) return <p class="description">No part of the program takes longer or shorter than in the first run.</p>;
    return (
        <Figure title="Largest changes" description={description} svg={null} table={() => toCsvTable(columns, parts.changes)}>
            <DataTable
                label="Parts of the program that changed"
                columns={columns}
                rows={parts.changes}
                rowKey={({ kind, name }) => `${kind} ${name}`}
                initialRows={10}
            />
        </Figure>
    );
}

function tableColumns(names: string[]): TableColumn<ChangedPart>[] {
    const ofRun = (name: string, run: number): TableColumn<ChangedPart> => {
        const value = (part: ChangedPart) => part.seconds[run] ?? null;
        const render = (part: ChangedPart) => {
            const known = value(part);
            return known === null ? '–' : seconds(known);
        };
        return { name: `${name} (s)`, value, render };
    };
    const change: TableColumn<ChangedPart> = {
        name: 'change (s)',
        value: ({ change_s }) => change_s,
        render: ({ change_s }) => signedSeconds(change_s),
    };
    return [{ name: 'part', value: ({ name }) => name, render: ({ name }) => name }, ...names.map(ofRun), change];
}
