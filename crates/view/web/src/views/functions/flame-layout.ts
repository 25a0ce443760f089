// Boxes of a flame graph: the root on top, callees below, as wide as their time.

import { ancestors, type CallNode, weightOf } from './call-tree';

export interface FlameBox {
    node: CallNode;
    /** In pixels. */
    x: number;
    width: number;
    row: number;
    /** Whether it is above the node that is zoomed to. */
    isAbove: boolean;
}

export interface FlameLayout {
    boxes: FlameBox[];
    rows: number;
    /** Whether there are functions below the last row. */
    isCut: boolean;
}

/** Narrower boxes cannot be seen. */
const MIN_WIDTH = 0.5;
/** A canvas cannot be much higher. */
const MAX_ROWS = 300;

export function flameLayout(zoomed: CallNode, width: number): FlameLayout {
    const boxes: FlameBox[] = ancestors(zoomed).map((node, row) => ({ node, x: 0, width, row, isAbove: true }));
    const scale = width / Math.max(weightOf(zoomed), Number.MIN_VALUE);
    const open: FlameBox[] = [{ node: zoomed, x: 0, width, row: zoomed.depth, isAbove: false }];
    const firstRow = zoomed.depth;
    let [rows, isCut] = [firstRow + 1, false];
    for (let box = open.pop(); box; box = open.pop()) {
        boxes.push(box);
        rows = Math.max(rows, box.row + 1);
        let { x } = box;
        for (const node of box.node.children) {
            const wide = weightOf(node) * scale;
            if (wide < MIN_WIDTH) break;
            if (box.row + 1 - firstRow < MAX_ROWS) open.push({ node, x, width: wide, row: box.row + 1, isAbove: false });
            else isCut = true;
            x += wide;
        }
    }
    return { boxes, rows, isCut };
}

/** The box at a position in pixels. */
export const boxAt = ({ boxes }: FlameLayout, x: number, row: number): FlameBox | undefined =>
    boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width);

/** The next or previous box in the row of a node. */
export function neighbour({ boxes }: FlameLayout, node: CallNode, isNext: boolean): CallNode | undefined {
    const row = boxes.filter((box) => box.row === node.depth).sort((one, other) => one.x - other.x);
    return row[row.findIndex((box) => box.node === node) + (isNext ? 1 : -1)]?.node;
}
