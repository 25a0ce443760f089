// The roles of the program, and the ranks of each.

import type { Program, Role } from '../../answers/program';
import { Figure } from '../../charts/figure';
import { type Column, Rows, tableOf } from '../../charts/rows';
import { Go } from '../../links/go';
import { parse, write } from '../../ranks';
import { selection } from '../../state/address';
import { count, percent, seconds } from '../../units';

export function Roles({ program, size }: { program: Program; size: number }) {
    const { ranks } = selection.value;
    const selected = ranks === undefined ? undefined : write(parse(ranks, size));
    const inMpi = (role: Role) => role.nodes.reduce((sum, { total_s }) => sum + total_s, 0) / Math.max(role.elapsed_s, Number.MIN_VALUE);
    const columns: Column<Role>[] = [
        {
            name: 'role',
            value: ({ name }) => name,
            show: (role) => {
                const text = write(role.ranks);
                return (
                    <>
                        <Go change={{ ranks: text }} title={`Select ranks ${text}`}>
                            {role.name}
                        </Go>
                        {selected === text && ' ✓'}
                    </>
                );
            },
        },
        {
            name: 'ranks',
            value: (role) => write(role.ranks),
            show: (role) => (role.ranks.length === 1 ? write(role.ranks) : <span title={write(role.ranks)}>{short(role.ranks)}</span>),
        },
        { name: 'time of a rank', unit: 's', says: 'On average', value: meanTime, show: (role) => seconds(meanTime(role)) },
        { name: 'in MPI', value: inMpi, show: (role) => percent(inMpi(role)), bar: inMpi, variable: '--collective' },
    ];
    return (
        <Figure title="Roles" svg={null} table={() => tableOf(columns, program.roles)}>
            <Rows label="Roles" columns={columns} rows={program.roles} name={({ name }) => name} />
        </Figure>
    );
}

const meanTime = ({ elapsed_s, ranks }: Role): number => elapsed_s / Math.max(ranks.length, 1);

function short(ranks: number[]): string {
    const text = write(ranks);
    return text.length > 14 ? `${count(ranks.length)} ranks` : text;
}
