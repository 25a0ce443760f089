// Roles of the program and their ranks.

import type { ProgramGraph, ProgramRole } from '../../answers/program';
import { DataTable, type TableColumn, toCsvTable } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { ViewLink } from '../../links/view-link';
import { displayRanks, formatRanks, parseRanks } from '../../ranks';
import { selection } from '../../state/address';
import { count, percent, seconds } from '../../units';

export function Roles({ program, size }: { program: ProgramGraph; size: number }) {
    const { ranks } = selection.value;
    const selected = ranks === undefined ? undefined : formatRanks(parseRanks(ranks, size));
    const inMpi = (role: ProgramRole) => role.nodes.reduce((sum, { total_s }) => sum + total_s, 0) / Math.max(role.elapsed_s, Number.MIN_VALUE);
    const columns: TableColumn<ProgramRole>[] = [
        {
            name: 'role',
            value: ({ name }) => name,
            render: (role) => {
                const text = formatRanks(role.ranks);
                return (
                    <>
                        <ViewLink change={{ ranks: text }} title={`Select ranks ${displayRanks(role.ranks)}`}>
                            {role.name}
                        </ViewLink>
                        {selected === text && ' ✓'}
                    </>
                );
            },
        },
        {
            name: 'ranks',
            value: (role) => formatRanks(role.ranks),
            render: (role) => <span title={displayRanks(role.ranks)}>{shortRanks(role.ranks)}</span>,
        },
        { name: 'time per rank', unit: 's', description: 'Mean over its ranks', value: meanTime, render: (role) => seconds(meanTime(role)) },
        { name: 'in MPI', value: inMpi, render: (role) => percent(inMpi(role)), bar: inMpi, barColour: '--collective' },
    ];
    return (
        <Figure title="Roles" svg={null} table={() => toCsvTable(columns, program.roles)}>
            <DataTable label="Roles" columns={columns} rows={program.roles} rowKey={({ name }) => name} />
        </Figure>
    );
}

const meanTime = ({ elapsed_s, ranks }: ProgramRole): number => elapsed_s / Math.max(ranks.length, 1);

function shortRanks(ranks: number[]): string {
    const text = displayRanks(ranks);
    return text.length > 14 ? `${count(ranks.length)} ranks` : text;
}
