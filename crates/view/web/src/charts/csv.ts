// Tables as CSV (RFC 4180), for spreadsheets and scripts.

export type Cell = string | number | boolean | null | undefined;

/** The data of a chart. */
export interface Table {
    /** Names of the columns, with the unit where there is one: `seconds`, `bytes`. */
    columns: string[];
    rows: Cell[][];
}

export function csv({ columns, rows }: Table): string {
    return [columns, ...rows].map((row) => row.map(cell).join(',') + '\r\n').join('');
}

function cell(value: Cell): string {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
