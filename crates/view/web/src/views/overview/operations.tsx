// MPI functions by time, and messages by size.

import { type OperationTime, type Report, totalRankSeconds } from '../../answers/report';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { OperationLink } from '../../links/operation-link';
import { selection } from '../../state/address';
import { binaryBytes, bytes, count, percent, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

const INITIAL_ROWS = 8;

export function Operations({ report }: { report: Pick<Report, 'operations' | 'per_rank' | 'threads'> }) {
    const { operations } = report;
    const all = totalRankSeconds(report);
    const max = Math.max(...operations.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const columns: TableColumn<OperationTime>[] = [
        {
            name: 'operation',
            value: ({ operation }) => operation,
            render: ({ operation }) => <OperationLink name={operation} />,
        },
        { name: 'calls', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
        {
            name: 'time',
            unit: 's',
            value: (row) => row.seconds,
            render: (row) => seconds(row.seconds),
            bar: (row) => row.seconds / max,
            barColour: '--collective',
        },
        {
            name: 'of run',
            description: 'Share of the time of all ranks',
            value: (row) => row.seconds / all,
            render: (row) => percent(row.seconds / all),
        },
        { name: 'bytes', value: (row) => row.bytes, render: (row) => (row.bytes > 0 ? bytes(row.bytes) : '–') },
    ];
    return (
        <TableFigure
            title="MPI functions by time"
            columns={columns}
            rows={operations}
            rowKey={({ operation }) => operation}
            initialRows={INITIAL_ROWS}
            isMarked={({ operation }) => operation === selection.value.operation}
        />
    );
}

type SizeClass = Report['sizes'][number];

export function MessageSizes({ report }: OverviewProps) {
    const { sizes } = report;
    if (sizes.length === 0) return null;
    const max = Math.max(...sizes.map(({ messages }) => messages), 1);
    const columns: TableColumn<SizeClass>[] = [
        { name: 'up to', unit: 'bytes', value: ({ up_to }) => up_to, render: ({ up_to }) => binaryBytes(up_to) },
        {
            name: 'messages',
            value: ({ messages }) => messages,
            render: ({ messages }) => count(messages),
            bar: ({ messages }) => messages / max,
            barColour: '--sending',
        },
        { name: 'bytes', value: (row) => row.bytes, render: (row) => bytes(row.bytes) },
    ];
    return <TableFigure title="Messages between ranks, by size" columns={columns} rows={sizes} rowKey={({ up_to }) => String(up_to)} />;
}
