// The table of call sites: sortable, filterable, with keyboard navigation.

import { useMemo, useRef, useState } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import { numericColumns, type SortOrder, sortRows, TableCells, type TableColumn, TableHead, toCsvTable, useSortOrder } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { locationDetails, siteIndicesAt } from '../../links/source-location';
import { isPageShortcut } from '../../shell/page-shortcut';
import { useSearchShortcut } from '../../shell/search-shortcut';
import { navigate, select, selection, setViewParam } from '../../state/address';
import { bytes, count, percent, seconds } from '../../units';
import type { CallSiteRow } from './call-sites';

/** Maximum number of rows; filter to see others. */
const MAX_ROWS = 500;

interface Props {
    all: CallSiteRow[];
    recording: RecordingSummary;
    hasWaits: boolean;
}

export function SiteTable({ all, recording, hasWaits }: Props) {
    const { site, operation, viewParams } = selection.value;
    const filter = viewParams.filter ?? '';
    const [order, setOrder] = useSortOrder('Call sites');
    const columns = useMemo(() => tableColumns(all, hasWaits), [all, hasWaits]);
    const rows = useMemo(() => sortRows(filterRows(all, filter), columns, order), [all, filter, columns, order?.column, order?.ascending]);
    const same = site === undefined ? [] : siteIndicesAt(recording, site);
    const isSelected = (row: CallSiteRow) =>
        row.siteIndex !== undefined && same.includes(row.siteIndex) && (operation ?? row.operation) === row.operation;
    return (
        <Figure title="Call sites" svg={null} table={() => toCsvTable(columns, rows)} controls={<Filter filter={filter} />}>
            <TableBody columns={columns} all={all} rows={rows} order={order} setOrder={setOrder} isSelected={isSelected} operation={operation} />
            <p class="muted">
                {rows.length === all.length ? `${count(all.length)} call sites` : `${count(rows.length)} of ${count(all.length)} call sites`}
                {rows.length > MAX_ROWS && `; the first ${MAX_ROWS} are shown`}
            </p>
        </Figure>
    );
}

function Filter({ filter }: { filter: string }) {
    const input = useSearchShortcut();
    return (
        <label>
            <span class="visually-hidden">Filter call sites</span>
            <input
                ref={input}
                type="search"
                placeholder="Filter: operation, file, function ( / )"
                value={filter}
                size={30}
                onInput={(event) => setViewParam('filter', event.currentTarget.value)}
            />
        </label>
    );
}

interface BodyProps {
    columns: TableColumn<CallSiteRow>[];
    all: CallSiteRow[];
    rows: CallSiteRow[];
    order: SortOrder | undefined;
    setOrder: (order: SortOrder) => void;
    isSelected: (row: CallSiteRow) => boolean;
    operation: string | undefined;
}

function TableBody({ columns, all, rows, order, setOrder, isSelected, operation }: BodyProps) {
    const body = useRef<HTMLTableSectionElement>(null);
    const shown = rows.slice(0, MAX_ROWS);
    const [focusedRow, setWalked] = useState(-1);
    // A row without a call site cannot be selected, only passed.
    const isUnselectable = shown[focusedRow] !== undefined && shown[focusedRow]?.siteIndex === undefined;
    const found = shown.findIndex(isSelected);
    const index = found < 0 && isUnselectable ? focusedRow : found;
    const numericNames = useMemo(() => numericColumns(columns, all), [columns, all]);
    const choose = (to: number) => {
        const next = Math.max(0, Math.min(shown.length - 1, to));
        const row = shown[next];
        if (!row) return;
        setWalked(next);
        select({ site: row.siteIndex, operation: row.operation }, true);
        const element = body.current?.children[next];
        if (element instanceof HTMLElement) element.focus();
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (!isPageShortcut(event)) return;
        const last = shown.length - 1;
        const steps: Record<string, number> = {
            ArrowDown: index + 1,
            ArrowUp: index - 1,
            Home: 0,
            End: last,
            PageDown: index + 10,
            PageUp: index - 10,
        };
        const to = steps[event.key];
        const row = shown[index];
        if (to !== undefined) choose(to);
        else if (event.key === 'Enter' && row?.siteIndex !== undefined) navigate('timeline', { site: row.siteIndex, operation: row.operation });
        else return;
        event.preventDefault();
    };
    return (
        <div class="data-table-frame">
            {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows are selected with the keyboard */}
            <table class="data-table" role="grid" aria-label="Call sites">
                <TableHead columns={columns} numericNames={numericNames} order={order} choose={setOrder} />
                <tbody ref={body} onKeyDown={onKeyDown}>
                    {shown.map((row, number) => (
                        <tr
                            key={`${row.operation} ${row.locationName} ${number}`}
                            aria-selected={number === index}
                            class={operation !== undefined && row.operation !== operation ? 'faded' : ''}
                            tabIndex={number === Math.max(0, index) ? 0 : -1}
                            onClick={() => choose(number)}
                        >
                            <TableCells columns={columns} numericNames={numericNames} row={row} />
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function filterRows(all: CallSiteRow[], filter: string): CallSiteRow[] {
    const words = filter
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== '');
    if (words.length === 0) return all;
    return all.filter(({ operation, location, waits }) => {
        const text = [operation, location.file, location.line, location.function, location.module, ...waits].join(' ').toLowerCase();
        return words.every((word) => text.includes(word));
    });
}

function tableColumns(all: CallSiteRow[], hasWaits: boolean): TableColumn<CallSiteRow>[] {
    const max = Math.max(...all.map((row) => row.seconds), Number.MIN_VALUE);
    const columns: TableColumn<CallSiteRow>[] = [
        { name: 'operation', value: ({ operation }) => operation },
        {
            name: 'location',
            value: ({ locationName }) => locationName,
            render: ({ locationName, location }) => <span title={locationDetails(location)}>{locationName}</span>,
        },
        { name: 'function', value: ({ location }) => location.function },
        { name: 'calls', description: 'Summed over all ranks', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
        {
            name: 'time',
            unit: 's',
            description: 'Seconds, summed over all ranks',
            value: (row) => row.seconds,
            render: (row) => seconds(row.seconds),
            bar: (row) => row.seconds / max,
            barColour: '--collective',
        },
        { name: 'of run', description: 'Share of the time of all ranks', value: ({ share }) => share, render: ({ share }) => percent(share) },
        { name: 'bytes', description: 'Sent and received', value: (row) => row.bytes, render: (row) => (row.bytes > 0 ? bytes(row.bytes) : '–') },
    ];
    if (hasWaits) {
        columns.push({
            name: 'waiting',
            unit: 's',
            description: 'Seconds of waiting for other ranks',
            value: ({ waits_s }) => waits_s,
            render: ({ waits_s, waits }) => <span title={waits.join(', ')}>{waits_s > 0 ? seconds(waits_s) : '–'}</span>,
        });
    }
    return columns;
}
