// The part of the matrix that is seen: as many rows as columns, so that cells stay square.

export interface Window {
    /** The first column and row that are seen, in labels; parts of one count. */
    x: number;
    y: number;
    /** How many labels are seen across. */
    span: number;
}

const LEAST = 2;

export const whole = (size: number): Window => ({ x: 0, y: 0, span: size });

/** Keeps it inside the matrix. */
export function kept({ x, y, span }: Window, size: number): Window {
    const across = Math.min(Math.max(span, Math.min(LEAST, size)), size);
    const inside = (at: number) => Math.min(Math.max(at, 0), size - across);
    return { x: inside(x), y: inside(y), span: across };
}

/** A window as the address has it: `4,8,16`. */
export const written = ({ x, y, span }: Window): string => [x, y, span].map((value) => Math.round(100 * value) / 100).join();

/** The window that an address has; the whole matrix if it has none. */
export function readWindow(text: string | undefined, size: number): Window {
    const [x = 0, y = 0, span = 0] = (text ?? '').split(',').map(Number);
    return span > 0 && Number.isFinite(x + y + span) ? kept({ x, y, span }, size) : whole(size);
}

/** Shows so many times as much, while a point (in labels) stays where it is. */
export function zoomed(window: Window, factor: number, x: number, y: number, size: number): Window {
    const { span } = kept({ ...window, span: window.span * factor }, size);
    const share = span / window.span;
    return kept({ x: x - (x - window.x) * share, y: y - (y - window.y) * share, span }, size);
}

/** Moved just so far that a cell is seen. */
export function showing(window: Window, from: number, to: number, size: number): Window {
    const along = (at: number, first: number) => (at < first ? at : at + 1 > first + window.span ? at + 1 - window.span : first);
    return kept({ x: along(to, window.x), y: along(from, window.y), span: window.span }, size);
}
