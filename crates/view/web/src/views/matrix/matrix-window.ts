// The visible part of the matrix: always square.

export interface MatrixWindow {
    /** First visible column and row, in labels; may be fractional. */
    x: number;
    y: number;
    /** Number of labels visible across. */
    span: number;
}

const MIN_SPAN = 2;

export const wholeMatrix = (size: number): MatrixWindow => ({ x: 0, y: 0, span: size });

/** Clamps the window to the matrix. */
export function clampWindow({ x, y, span }: MatrixWindow, size: number): MatrixWindow {
    const across = Math.min(Math.max(span, Math.min(MIN_SPAN, size)), size);
    const inside = (index: number) => Math.min(Math.max(index, 0), size - across);
    return { x: inside(x), y: inside(y), span: across };
}

/** Formats a window for the address: `4,8,16`. */
export const formatWindow = ({ x, y, span }: MatrixWindow): string => [x, y, span].map((value) => Math.round(100 * value) / 100).join();

/** Parses a window from the address; the whole matrix if it is invalid. */
export function parseWindow(text: string | undefined, size: number): MatrixWindow {
    const [x = 0, y = 0, span = 0] = (text ?? '').split(',').map(Number);
    return span > 0 && Number.isFinite(x + y + span) ? clampWindow({ x, y, span }, size) : wholeMatrix(size);
}

/** Zooms by a factor around a point in label units. */
export function zoomWindow(window: MatrixWindow, factor: number, x: number, y: number, size: number): MatrixWindow {
    const { span } = clampWindow({ ...window, span: window.span * factor }, size);
    const share = span / window.span;
    return clampWindow({ x: x - (x - window.x) * share, y: y - (y - window.y) * share, span }, size);
}

/** Scrolls by the minimum needed to make a cell visible. */
export function scrollToCell(window: MatrixWindow, from: number, to: number, size: number): MatrixWindow {
    const along = (index: number, first: number) => (index < first ? index : index + 1 > first + window.span ? index + 1 - window.span : first);
    return clampWindow({ x: along(to, window.x), y: along(from, window.y), span: window.span }, size);
}
