// The table of call sites: sorted, filtered, and walked through with the arrow keys.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import { Figure } from '../../charts/figure';
import { Cells, type Column, Heads, numbersOf, type Order, sorted, tableOf, useOrder } from '../../charts/rows';
import { placeAtLength, sitesAt } from '../../links/place';
import { isOurs } from '../../shell/ours';
import { go, select, selection, setOwn } from '../../state/address';
import { bytes, count, percent, seconds } from '../../units';
import type { CallSiteRow } from './call-sites';

/** So many rows are drawn; who looks for others filters. */
const MOST = 500;

interface Props {
    all: CallSiteRow[];
    recorded: Recorded;
    hasWaits: boolean;
}

export function SiteTable({ all, recorded, hasWaits }: Props) {
    const { site, operation, own } = selection.value;
    const filter = own.filter ?? '';
    const [order, setOrder] = useOrder('Call sites');
    const columns = useMemo(() => columnsOf(all, hasWaits), [all, hasWaits]);
    const rows = useMemo(() => sorted(filtered(all, filter), columns, order), [all, filter, columns, order?.column, order?.up]);
    const same = site === undefined ? [] : sitesAt(recorded, site);
    const isSelected = (row: CallSiteRow) => row.site !== undefined && same.includes(row.site) && (operation ?? row.operation) === row.operation;
    return (
        <Figure title="Call sites" svg={null} table={() => tableOf(columns, rows)} controls={<Filter filter={filter} />}>
            <Body columns={columns} all={all} rows={rows} order={order} setOrder={setOrder} isSelected={isSelected} operation={operation} />
            <p class="quiet">
                {rows.length === all.length ? `${count(all.length)} call sites` : `${count(rows.length)} of ${count(all.length)} call sites`}
                {rows.length > MOST && `; the first ${MOST} are shown`}
            </p>
        </Figure>
    );
}

function Filter({ filter }: { filter: string }) {
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const press = (event: KeyboardEvent) => {
            if (event.key !== '/' || !isOurs(event)) return;
            event.preventDefault();
            input.current?.focus();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, []);
    return (
        <label>
            <span class="unseen">Filter call sites</span>
            <input
                ref={input}
                type="search"
                placeholder="Filter: operation, file, function ( / )"
                value={filter}
                size={30}
                onInput={(event) => setOwn('filter', event.currentTarget.value)}
            />
        </label>
    );
}

interface BodyProps {
    columns: Column<CallSiteRow>[];
    all: CallSiteRow[];
    rows: CallSiteRow[];
    order: Order | undefined;
    setOrder: (order: Order) => void;
    isSelected: (row: CallSiteRow) => boolean;
    operation: string | undefined;
}

function Body({ columns, all, rows, order, setOrder, isSelected, operation }: BodyProps) {
    const body = useRef<HTMLTableSectionElement>(null);
    const shown = rows.slice(0, MOST);
    const [walked, setWalked] = useState(-1);
    // A place that nobody knows cannot be selected, but walked over.
    const isPassed = shown[walked] !== undefined && shown[walked]?.site === undefined;
    const found = shown.findIndex(isSelected);
    const at = found < 0 && isPassed ? walked : found;
    const numbers = useMemo(() => numbersOf(columns, all), [columns, all]);
    const choose = (to: number) => {
        const next = Math.max(0, Math.min(shown.length - 1, to));
        const row = shown[next];
        if (!row) return;
        setWalked(next);
        select({ site: row.site, operation: row.operation }, true);
        const element = body.current?.children[next];
        if (element instanceof HTMLElement) element.focus();
    };
    const press = (event: KeyboardEvent) => {
        if (!isOurs(event)) return;
        const last = shown.length - 1;
        const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last, PageDown: at + 10, PageUp: at - 10 };
        const to = steps[event.key];
        const row = shown[at];
        if (to !== undefined) choose(to);
        else if (event.key === 'Enter' && row?.site !== undefined) go('timeline', { site: row.site, operation: row.operation });
        else return;
        event.preventDefault();
    };
    return (
        <div class="rows-frame">
            <table class="rows" role="grid" aria-label="Call sites">
                <Heads columns={columns} numbers={numbers} order={order} choose={setOrder} />
                <tbody ref={body} onKeyDown={press}>
                    {shown.map((row, number) => (
                        <tr
                            key={`${row.operation} ${row.where} ${number}`}
                            aria-selected={number === at}
                            class={operation !== undefined && row.operation !== operation ? 'faded' : ''}
                            tabIndex={number === Math.max(0, at) ? 0 : -1}
                            onClick={() => choose(number)}
                        >
                            <Cells columns={columns} numbers={numbers} row={row} />
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function filtered(all: CallSiteRow[], filter: string): CallSiteRow[] {
    const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
    if (words.length === 0) return all;
    return all.filter(({ operation, place, waits }) => {
        const text = [operation, place.file, place.line, place.function, place.module, ...waits].join(' ').toLowerCase();
        return words.every((word) => text.includes(word));
    });
}

function columnsOf(all: CallSiteRow[], hasWaits: boolean): Column<CallSiteRow>[] {
    const most = Math.max(...all.map((row) => row.seconds), Number.MIN_VALUE);
    const columns: Column<CallSiteRow>[] = [
        { name: 'operation', value: ({ operation }) => operation },
        {
            name: 'called at',
            value: ({ where }) => where,
            show: ({ where, place }) => <span title={placeAtLength(place)}>{where}</span>,
        },
        { name: 'function', value: ({ place }) => place.function },
        { name: 'calls', says: 'Of all ranks', value: ({ calls }) => calls, show: ({ calls }) => count(calls) },
        {
            name: 'time',
            unit: 's',
            says: 'Seconds of all ranks together',
            value: (row) => row.seconds,
            show: (row) => seconds(row.seconds),
            bar: (row) => row.seconds / most,
            variable: '--collective',
        },
        { name: 'of run', says: 'Share of all ranks’ time', value: ({ share }) => share, show: ({ share }) => percent(share) },
        { name: 'bytes', says: 'Sent and received', value: (row) => row.bytes, show: (row) => (row.bytes > 0 ? bytes(row.bytes) : '–') },
    ];
    if (hasWaits) {
        columns.push({
            name: 'waiting',
            unit: 's',
            says: 'Seconds of waiting for other ranks',
            value: ({ waits_s }) => waits_s,
            show: ({ waits_s, waits }) => <span title={waits.join(', ')}>{waits_s > 0 ? seconds(waits_s) : '–'}</span>,
        });
    }
    return columns;
}
