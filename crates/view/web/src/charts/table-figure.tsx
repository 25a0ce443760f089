// A table in a figure: with a title and a CSV export.

import { DataTable, type DataTableProps, toCsvTable } from './data-table';
import { Figure } from './figure';

type Props<Row> = Omit<DataTableProps<Row>, 'label'> & { title: string };

export function TableFigure<Row>({ title, ...table }: Props<Row>) {
    return (
        <Figure title={title} svg={null} table={() => toCsvTable(table.columns, table.rows)}>
            <DataTable label={title} {...table} />
        </Figure>
    );
}
