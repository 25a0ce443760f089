// A table sortable by any column, with optional bars beside the numbers.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { selection, setViewParam } from '../state/address';
import type { CsvCell, CsvTable } from './csv';
import './data-table.css';

export interface TableColumn<Row> {
    /** Heading, also used in the CSV file. */
    name: string;
    /** Unit of the values; shown with each value, and in the heading of the CSV file. */
    unit?: string;
    /** Shown as a tooltip. */
    description?: string;
    /** Sort key and CSV value. */
    value: (row: Row) => CsvCell;
    /** Displayed content, if it differs from the value. */
    render?: (row: Row) => ComponentChildren;
    /** Length of the bar beside it, from 0 to 1. */
    bar?: (row: Row) => number;
    /** CSS variable of the bar's colour. */
    barColour?: string;
}

export interface DataTableProps<Row> {
    /** Accessible name of the table. */
    label: string;
    columns: TableColumn<Row>[];
    /** In default order. */
    rows: Row[];
    /** A unique key. */
    rowKey: (row: Row) => string;
    /** Number of rows shown before "Show all". */
    initialRows?: number;
    /** Whether a row is highlighted as selected. */
    isMarked?: (row: Row) => boolean;
}

export interface SortOrder {
    column: string;
    ascending: boolean;
}

/** Sorts rows by a column; missing values come last. */
export function sortRows<Row>(rows: Row[], columns: TableColumn<Row>[], order: SortOrder | undefined): Row[] {
    const by = columns.find(({ name }) => name === order?.column);
    if (!by || !order) return rows;
    const sign = order.ascending ? 1 : -1;
    const compare = (one: CsvCell, other: CsvCell): number => {
        if (one === other) return 0;
        if (one === null || one === undefined) return 1;
        if (other === null || other === undefined) return -1;
        if (typeof one === 'number' && typeof other === 'number') return sign * (one - other);
        return sign * String(one).localeCompare(String(other), 'en', { numeric: true });
    };
    return [...rows].sort((one, other) => compare(by.value(one), by.value(other)));
}

/** The order after a click on a heading. Numbers are sorted in descending order first. */
export function nextOrder(order: SortOrder | undefined, column: string, isNumber: boolean): SortOrder {
    return order?.column === column ? { column, ascending: !order.ascending } : { column, ascending: !isNumber };
}

export function toCsvTable<Row>(columns: TableColumn<Row>[], rows: Row[]): CsvTable {
    const head = ({ name, unit }: TableColumn<Row>) => (unit === undefined ? name : `${name} (${unit})`);
    return { columns: columns.map(head), rows: rows.map((row) => columns.map(({ value }) => value(row))) };
}

/** The sort order of a table, stored in the address: `order.Waits=-time` is descending. */
export function useSortOrder(label: string): [SortOrder | undefined, (order: SortOrder) => void] {
    const name = `order.${label}`;
    const text = selection.value.viewParams[name];
    const order = text === undefined ? undefined : { column: text.replace(/^-/, ''), ascending: !text.startsWith('-') };
    return [order, ({ column, ascending }) => setViewParam(name, `${ascending ? '' : '-'}${column}`)];
}

export function DataTable<Row>({ label, columns, rows, rowKey, initialRows = Infinity, isMarked = () => false }: DataTableProps<Row>) {
    const [order, setOrder] = useSortOrder(label);
    const [all, setAll] = useState(false);
    const shown = sortRows(rows, columns, order).slice(0, all ? Infinity : initialRows);
    const numericNames = numericColumns(columns, rows);
    return (
        <>
            <div class="data-table-frame">
                <table class="data-table" aria-label={label}>
                    <TableHead columns={columns} numericNames={numericNames} order={order} choose={setOrder} />
                    <tbody>
                        {shown.map((row) => (
                            <tr key={rowKey(row)} class={isMarked(row) ? 'marked' : ''} aria-current={isMarked(row) || undefined}>
                                <TableCells columns={columns} numericNames={numericNames} row={row} />
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {rows.length > initialRows && (
                <button type="button" class="more" onClick={() => setAll(!all)}>
                    {all ? `Show ${initialRows} rows` : `Show all ${rows.length} rows`}
                </button>
            )}
        </>
    );
}

interface TableHeadProps<Row> {
    columns: TableColumn<Row>[];
    /** Names of the numeric columns. */
    numericNames: Set<string>;
    order: SortOrder | undefined;
    choose: (order: SortOrder) => void;
}

export function TableHead<Row>({ columns, numericNames, order, choose }: TableHeadProps<Row>) {
    return (
        <thead>
            <tr>
                {columns.map((column) => {
                    const isNumber = numericNames.has(column.name);
                    const current = order?.column === column.name ? (order.ascending ? 'ascending' : 'descending') : undefined;
                    return (
                        <th key={column.name} scope="col" class={isNumber ? 'number' : ''} aria-sort={current}>
                            <button type="button" title={column.description} onClick={() => choose(nextOrder(order, column.name, isNumber))}>
                                {column.name}
                                <span aria-hidden="true">{current ? (order?.ascending ? ' ▲' : ' ▼') : ''}</span>
                            </button>
                        </th>
                    );
                })}
            </tr>
        </thead>
    );
}

export function TableCells<Row>({ columns, numericNames, row }: { columns: TableColumn<Row>[]; numericNames: Set<string>; row: Row }) {
    return (
        <>
            {columns.map(({ name, value, render, bar, barColour }) => (
                <td key={name} class={numericNames.has(name) ? 'number' : ''}>
                    {bar && (
                        <span class="bar" aria-hidden="true">
                            <span style={{ width: `${100 * Math.min(1, Math.max(0, bar(row)))}%`, background: `var(${barColour ?? '--accent'})` }} />
                        </span>
                    )}
                    {bar ? <span class="value">{render ? render(row) : value(row)}</span> : render ? render(row) : value(row)}
                </td>
            ))}
        </>
    );
}

/** Names of the numeric columns. */
export function numericColumns<Row>(columns: TableColumn<Row>[], rows: Row[]): Set<string> {
    return new Set(columns.filter(({ value }) => rows.some((row) => typeof value(row) === 'number')).map(({ name }) => name));
}
