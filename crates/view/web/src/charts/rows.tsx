// A table that can be sorted by any column, with bars beside numbers that are worth comparing.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { selection, setOwn } from '../state/address';
import type { Cell, Table } from './csv';
import './rows.css';

export interface Column<Row> {
    /** Its name, for people and as the head of a column of CSV. */
    name: string;
    /** The unit of its values, which people see beside each: `s`. */
    unit?: string;
    /** What it means. */
    says?: string;
    /** What it is sorted by and saved as. */
    value: (row: Row) => Cell;
    /** What is shown, if that is something else. */
    show?: (row: Row) => ComponentChildren;
    /** How long a bar to draw beside it, from 0 to 1. */
    bar?: (row: Row) => number;
    /** The colour of the bar: a variable of style.css. */
    variable?: string;
}

export interface RowsProps<Row> {
    /** What the table lists. */
    label: string;
    columns: Column<Row>[];
    /** In the order in which they are shown until a column is chosen. */
    rows: Row[];
    /** What tells rows apart. */
    name: (row: Row) => string;
    /** How many rows are shown at first. */
    most?: number;
    /** Those that stand out because they are selected. */
    isMarked?: (row: Row) => boolean;
}

export interface Order {
    column: string;
    up: boolean;
}

/** Rows in the order of a column; what is not known comes last. */
export function sorted<Row>(rows: Row[], columns: Column<Row>[], order: Order | undefined): Row[] {
    const by = columns.find(({ name }) => name === order?.column);
    if (!by || !order) return rows;
    const sign = order.up ? 1 : -1;
    const compare = (one: Cell, other: Cell): number => {
        if (one === other) return 0;
        if (one === null || one === undefined) return 1;
        if (other === null || other === undefined) return -1;
        if (typeof one === 'number' && typeof other === 'number') return sign * (one - other);
        return sign * String(one).localeCompare(String(other), 'en', { numeric: true });
    };
    return [...rows].sort((one, other) => compare(by.value(one), by.value(other)));
}

/** The order after a click on the head of a column: numbers begin with the greatest. */
export function clicked(order: Order | undefined, column: string, isNumber: boolean): Order {
    return order?.column === column ? { column, up: !order.up } : { column, up: !isNumber };
}

/** The data of such a table, for CSV. */
export function tableOf<Row>(columns: Column<Row>[], rows: Row[]): Table {
    const head = ({ name, unit }: Column<Row>) => (unit === undefined ? name : `${name} (${unit})`);
    return { columns: columns.map(head), rows: rows.map((row) => columns.map(({ value }) => value(row))) };
}

/** The order of a table, which the address has: `order.Waits=-time` begins with the longest. */
export function useOrder(label: string): [Order | undefined, (order: Order) => void] {
    const name = `order.${label}`;
    const text = selection.value.own[name];
    const order = text === undefined ? undefined : { column: text.replace(/^-/, ''), up: !text.startsWith('-') };
    return [order, ({ column, up }) => setOwn(name, `${up ? '' : '-'}${column}`)];
}

export function Rows<Row>({ label, columns, rows, name, most = Infinity, isMarked = () => false }: RowsProps<Row>) {
    const [order, setOrder] = useOrder(label);
    const [all, setAll] = useState(false);
    const shown = sorted(rows, columns, order).slice(0, all ? Infinity : most);
    const numbers = numbersOf(columns, rows);
    return (
        <>
            <div class="rows-frame">
                <table class="rows" aria-label={label}>
                    <Heads columns={columns} numbers={numbers} order={order} choose={setOrder} />
                    <tbody>
                        {shown.map((row) => (
                            <tr key={name(row)} class={isMarked(row) ? 'marked' : ''} aria-current={isMarked(row) || undefined}>
                                <Cells columns={columns} numbers={numbers} row={row} />
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {rows.length > most && (
                <button type="button" class="more" onClick={() => setAll(!all)}>
                    {all ? `Show ${most} rows` : `Show all ${rows.length} rows`}
                </button>
            )}
        </>
    );
}

interface HeadsProps<Row> {
    columns: Column<Row>[];
    /** The names of those that hold numbers. */
    numbers: Set<string>;
    order: Order | undefined;
    choose: (order: Order) => void;
}

export function Heads<Row>({ columns, numbers, order, choose }: HeadsProps<Row>) {
    return (
        <thead>
            <tr>
                {columns.map((column) => {
                    const isNumber = numbers.has(column.name);
                    const present = order?.column === column.name ? (order.up ? 'ascending' : 'descending') : undefined;
                    return (
                        <th key={column.name} scope="col" class={isNumber ? 'number' : ''} aria-sort={present}>
                            <button type="button" title={column.says} onClick={() => choose(clicked(order, column.name, isNumber))}>
                                {column.name}
                                <span aria-hidden="true">{present ? (order?.up ? ' ▲' : ' ▼') : ''}</span>
                            </button>
                        </th>
                    );
                })}
            </tr>
        </thead>
    );
}

export function Cells<Row>({ columns, numbers, row }: { columns: Column<Row>[]; numbers: Set<string>; row: Row }) {
    return (
        <>
            {columns.map(({ name, value, show, bar, variable }) => (
                <td key={name} class={numbers.has(name) ? 'number' : ''}>
                    {bar && (
                        <span class="bar" aria-hidden="true">
                            <span style={{ width: `${100 * Math.min(1, Math.max(0, bar(row)))}%`, background: `var(${variable ?? '--accent'})` }} />
                        </span>
                    )}
                    {bar ? <span class="figures">{show ? show(row) : value(row)}</span> : show ? show(row) : value(row)}
                </td>
            ))}
        </>
    );
}

/** The names of the columns that hold numbers. */
export function numbersOf<Row>(columns: Column<Row>[], rows: Row[]): Set<string> {
    return new Set(columns.filter(({ value }) => rows.some((row) => typeof value(row) === 'number')).map(({ name }) => name));
}
