// CSV export (RFC 4180).

export type CsvCell = string | number | boolean | null | undefined;

export interface CsvTable {
    /** Column names, with the unit if there is one: `time (s)`. */
    columns: string[];
    rows: CsvCell[][];
}

export function toCsv({ columns, rows }: CsvTable): string {
    return [columns, ...rows].map((row) => `${row.map(escapeCell).join(',')}\r\n`).join('');
}

function escapeCell(value: CsvCell): string {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
