// A table in a frame of its own: it has a title, and its data can be saved.

import { Figure } from './figure';
import { Rows, type RowsProps, tableOf } from './rows';

type Props<Row> = Omit<RowsProps<Row>, 'label'> & { title: string };

export function ListFigure<Row>({ title, ...table }: Props<Row>) {
    return (
        <Figure title={title} svg={null} table={() => tableOf(table.columns, table.rows)}>
            <Rows label={title} {...table} />
        </Figure>
    );
}
