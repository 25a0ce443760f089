// The call tree as a table for CSV files: one row for each function under its callers.

import type { CsvTable } from '../../charts/csv';
import { ancestors, type CallNode, descendants, differenceOf } from './call-tree';
import { kindLabel } from './flame-colours';

export function callTreeCsv(root: CallNode): CsvTable {
    const seconds = (ns: number) => ns * 1e-9;
    const columns = ['path', 'function', 'depth', 'total (s)', 'self (s)', 'computation (s)', 'kernel (s)', 'MPI (s)', 'kind', 'file', 'module'];
    const row = (node: CallNode) => {
        const { self, total, computation, kernel, mpi } = node.time;
        const path = [...ancestors(node).slice(1), node].map(({ name }) => name).join(';');
        const known = [
            path,
            node.name,
            node.depth,
            ...[total, self, computation, kernel, mpi].map(seconds),
            kindLabel(node.kind),
            node.file,
            node.module,
        ];
        return node.base ? [...known, seconds(node.base.total), seconds(differenceOf(node))] : known;
    };
    return { columns: root.base ? [...columns, 'baseline (s)', 'difference (s)'] : columns, rows: descendants(root).map(row) };
}
