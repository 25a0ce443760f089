// MPI functions by time, and messages by size.

import { allSeconds, type OperationTime, type Report } from '../../answers/report';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { Operation } from '../../links/operation';
import { selection } from '../../state/address';
import { binary, bytes, count, percent, seconds } from '../../units';
import type { Part } from './part';

const MOST = 8;

export function Operations({ report }: Part) {
    const { operations } = report;
    const all = allSeconds(report);
    const most = Math.max(...operations.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const columns: Column<OperationTime>[] = [
        {
            name: 'operation',
            value: ({ operation }) => operation,
            show: ({ operation }) => <Operation name={operation} />,
        },
        { name: 'calls', value: ({ calls }) => calls, show: ({ calls }) => count(calls) },
        {
            name: 'time',
            unit: 's',
            value: (row) => row.seconds,
            show: (row) => seconds(row.seconds),
            bar: (row) => row.seconds / most,
            variable: '--collective',
        },
        { name: 'of run', says: 'Share of all ranks’ time', value: (row) => row.seconds / all, show: (row) => percent(row.seconds / all) },
        { name: 'bytes', value: (row) => row.bytes, show: (row) => (row.bytes > 0 ? bytes(row.bytes) : '–') },
    ];
    return (
        <ListFigure
            title="MPI functions by time"
            columns={columns}
            rows={operations}
            name={({ operation }) => operation}
            most={MOST}
            isMarked={({ operation }) => operation === selection.value.operation}
        />
    );
}

type Size = Report['sizes'][number];

export function Sizes({ report }: Part) {
    const { sizes } = report;
    if (sizes.length === 0) return null;
    const most = Math.max(...sizes.map(({ messages }) => messages), 1);
    const columns: Column<Size>[] = [
        { name: 'up to', unit: 'bytes', value: ({ up_to }) => up_to, show: ({ up_to }) => binary(up_to) },
        {
            name: 'messages',
            value: ({ messages }) => messages,
            show: ({ messages }) => count(messages),
            bar: ({ messages }) => messages / most,
            variable: '--sending',
        },
        { name: 'bytes', value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
    ];
    return <ListFigure title="Messages between ranks, by size" columns={columns} rows={sizes} name={({ up_to }) => String(up_to)} />;
}
