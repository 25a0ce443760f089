// What was counted in the computation, by rank, segment and function.

import type { ComponentChildren } from 'preact';
import type { CounterReport, CounterValues } from '../../answers/counters';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { LocationLink } from '../../links/location-link';
import { RanksLink } from '../../links/ranks-link';
import { locationName } from '../../links/source-location';
import { percent, quantity, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

const INITIAL_ROWS = 8;

interface CounterRow extends CounterValues {
    name: string;
    shown: ComponentChildren;
    counted_s: number;
}

export function Counters({ report, recording }: OverviewProps) {
    const { counters } = report;
    if (!counters) return null;
    const columns: TableColumn<CounterRow>[] = [
        { name: 'where', value: ({ name }) => name, render: ({ shown }) => shown },
        {
            name: 'time',
            unit: 's',
            description: 'Computation in which it was counted',
            value: ({ counted_s }) => counted_s,
            render: ({ counted_s }) => seconds(counted_s),
        },
        ...counters.counters.map(
            ({ name, unit, is_sum }, index): TableColumn<CounterRow> => ({
                name,
                unit,
                description: is_sum ? 'Sum' : 'Mean over time',
                value: ({ values }) => values[index] ?? 0,
                render: ({ values }) => quantity(values[index] ?? 0),
            }),
        ),
        ...rates(counters),
    ];
    return (
        <TableFigure
            title={`Counters (${percent(counters.share)} of the computation)`}
            columns={columns}
            rows={rows(counters, recording)}
            rowKey={({ name }) => name}
            initialRows={INITIAL_ROWS}
        />
    );
}

/** Only where instructions and cycles were counted. */
function rates({ total }: CounterReport): TableColumn<CounterRow>[] {
    const rate = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(2));
    const ipc: TableColumn<CounterRow> = {
        name: 'IPC',
        description: 'Instructions per cycle',
        value: (row) => row.ipc ?? 0,
        render: (row) => rate(row.ipc),
    };
    const ghz: TableColumn<CounterRow> = {
        name: 'GHz',
        description: 'Cycles per nanosecond of computation',
        value: (row) => row.ghz ?? 0,
        render: (row) => rate(row.ghz),
    };
    return [...(total.ipc === undefined ? [] : [ipc]), ...(total.ghz === undefined ? [] : [ghz])];
}

function rows(counters: CounterReport, recording: OverviewProps['recording']): CounterRow[] {
    const { total, counted_s, ranks, segments, functions = [] } = counters;
    return [
        { ...total, counted_s, name: 'all ranks', shown: 'all ranks' },
        ...ranks.map((row) => ({
            ...row,
            name: `rank ${row.rank}`,
            shown: (
                <>
                    rank <RanksLink ranks={[row.rank]} />
                </>
            ),
        })),
        ...segments.map((row) => ({
            ...row,
            name: `${locationName(row.from)} to ${locationName(row.to)}`,
            shown: (
                <>
                    <LocationLink recording={recording} location={row.from} /> to <LocationLink recording={recording} location={row.to} />
                </>
            ),
        })),
        ...functions.map((row) => ({ ...row, name: `in ${row.function}`, shown: `in ${row.function}` })),
    ];
}
