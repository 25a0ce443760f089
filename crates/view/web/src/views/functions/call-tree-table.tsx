// The call tree as a table: rows open and close, and are sorted among their siblings.

import { useMemo, useRef } from 'preact/hooks';
import { numericColumns, sortRows, TableCells, type TableColumn, TableHead, useSortOrder } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { isPageShortcut } from '../../shell/page-shortcut';
import { selection, setViewParam } from '../../state/address';
import { nanoseconds, percent } from '../../units';
import { type CallNode, type Direction, differenceOf } from './call-tree';
import { callTreeCsv } from './call-tree-csv';
import { kindLabel } from './flame-colours';
import { signedTime } from './node-text';
import { parseToggled, type RowState, toggle, visibleRows } from './visible-rows';

interface Props {
    root: CallNode;
    direction: Direction;
    /** The selected function. */
    selected: number | undefined;
    choose: (node: CallNode) => void;
}

const MAX_ROWS = 500;
const LABEL = 'Call tree';

export function CallTreeTable({ root, direction, selected, choose }: Props) {
    const [order, setOrder] = useSortOrder(LABEL);
    const { open } = selection.value.viewParams;
    const toggled = useMemo(() => parseToggled(open), [open]);
    const columns = useMemo(() => tableColumns(root, direction), [root, direction]);
    const { rows, isCut } = useMemo(
        () => visibleRows(root, toggled, (siblings) => sortRows(siblings, columns, order), MAX_ROWS),
        [root, toggled, columns, order?.column, order?.ascending],
    );
    const numericNames = useMemo(() => numericColumns(columns, root.children), [columns, root]);
    const flip = (node: CallNode) => setViewParam('open', toggle(toggled, node.path));
    return (
        <Figure title={LABEL} svg={null} table={() => callTreeCsv(root)}>
            <div class="data-table-frame call-tree">
                {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows are opened with the keyboard */}
                <table class="data-table" role="treegrid" aria-label={LABEL}>
                    <TableHead columns={columns} numericNames={numericNames} order={order} choose={setOrder} />
                    <TreeRows rows={rows} columns={columns} numericNames={numericNames} selected={selected} flip={flip} choose={choose} />
                </table>
            </div>
            {isCut && <p class="muted">The first {MAX_ROWS} rows are shown.</p>}
        </Figure>
    );
}

interface RowsProps {
    rows: RowState[];
    columns: TableColumn<CallNode>[];
    numericNames: Set<string>;
    selected: number | undefined;
    flip: (node: CallNode) => void;
    choose: (node: CallNode) => void;
}

function TreeRows({ rows, columns, numericNames, selected, flip, choose }: RowsProps) {
    const body = useRef<HTMLTableSectionElement>(null);
    const [nameColumn, ...otherColumns] = columns;
    const focusRow = (index: number) => {
        const element = body.current?.children[Math.max(0, Math.min(rows.length - 1, index))];
        if (element instanceof HTMLElement) element.focus();
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (!isPageShortcut(event) || !(event.target instanceof HTMLTableRowElement)) return;
        const index = [...(body.current?.children ?? [])].indexOf(event.target);
        const row = rows[index];
        if (!row) return;
        const { node, isOpen } = row;
        const steps: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 };
        const to = steps[event.key];
        if (to !== undefined) focusRow(to);
        else if (event.key === 'ArrowRight' && node.children.length > 0) isOpen ? focusRow(index + 1) : flip(node);
        else if (event.key === 'ArrowLeft' && isOpen) flip(node);
        else if (event.key === 'ArrowLeft') focusRow(rows.findIndex((one) => one.node === node.parent));
        else if (event.key === 'Enter') choose(node);
        else return;
        event.preventDefault();
    };
    return (
        <tbody ref={body} onKeyDown={onKeyDown}>
            {rows.map(({ node, isOpen }, index) => (
                <tr
                    key={node.path}
                    aria-level={node.depth}
                    aria-expanded={node.children.length > 0 ? isOpen : undefined}
                    aria-selected={selected !== undefined && node.functionIndex === selected}
                    tabIndex={index === 0 ? 0 : -1}
                    onClick={() => choose(node)}
                >
                    <td>
                        <span class="call-tree-name" style={{ '--depth': node.depth - 1 }}>
                            <button
                                type="button"
                                class="call-tree-toggle"
                                tabIndex={-1}
                                aria-hidden="true"
                                disabled={node.children.length === 0}
                                onClick={(event) => {
                                    event.stopPropagation();
                                    flip(node);
                                }}
                            >
                                {node.children.length === 0 ? '·' : isOpen ? '▾' : '▸'}
                            </button>
                            {nameColumn?.render?.(node)}
                        </span>
                    </td>
                    <TableCells columns={otherColumns} numericNames={numericNames} row={node} />
                </tr>
            ))}
        </tbody>
    );
}

function tableColumns(root: CallNode, direction: Direction): TableColumn<CallNode>[] {
    const time = (name: string, description: string, value: (node: CallNode) => number): TableColumn<CallNode> => ({
        name,
        unit: 's',
        description,
        value: (node) => value(node) * 1e-9,
        render: (node) => (value(node) > 0 ? nanoseconds(value(node)) : '–'),
    });
    const all = Math.max(root.time.total, 1);
    const columns: TableColumn<CallNode>[] = [
        {
            name: 'function',
            value: ({ name }) => name,
            render: ({ name, label, file, module }) => <span title={`${name}\n${file ?? module}`}>{label}</span>,
        },
        {
            ...time('total', 'With what it called', (node) => node.time.total),
            bar: (node) => node.time.total / all,
            barColour: '--computation',
        },
        { name: 'share', description: 'Share of the whole', value: ({ time }) => time.total / all, render: ({ time }) => percent(time.total / all) },
        time('self', direction === 'callees' ? 'Without what it called' : 'Of the function in the first level', (node) => node.time.self),
    ];
    if (root.base) {
        const baseline = time('baseline', 'Time in the baseline', (node) => node.base?.total ?? 0);
        const difference = {
            ...time('difference', 'Time minus the baseline', differenceOf),
            render: (node: CallNode) => signedTime(differenceOf(node)),
        };
        columns.splice(2, 0, baseline, difference);
    } else {
        columns.push(
            time('kernel', 'In the kernel', (node) => node.time.kernel),
            time('MPI', 'In MPI calls', (node) => node.time.mpi),
            { name: 'in', description: 'Program, library, MPI or kernel', value: ({ kind }) => kindLabel(kind) },
        );
    }
    return columns;
}
