// What the keys do. Letters and keys that scroll a page count only on the timeline itself.

import { source } from '../../answers/source';
import { isOurs } from '../../shell/ours';
import type { Control } from './control';
import { lengthOf } from './span';

const ZOOM = 0.6;
const MOVE = 0.2;

type Key = [key: string, does: string];

/** For people: which keys there are. */
export const KEYS: Key[] = [
    ['← → or A D', 'move'],
    ['↑ ↓ or W S, + −', 'zoom'],
    ['0', 'the whole run'],
    ['Home End', 'its beginning, its end'],
    ...ofCalls<Key>(
        ['[ ]', 'the call before, after'],
        ['Enter', 'details of the call'],
        ['/', 'search'],
        ['double click', 'zoom to a call'],
    ),
    ['wheel, drag', 'zoom, move'],
    ['Shift and drag, or drag on the axis', 'zoom to a window'],
    ['drag over names', 'select ranks'],
];

/** Keys for single calls, of which a file knows nothing. */
function ofCalls<One>(...keys: One[]): One[] {
    return source.live ? keys : [];
}

type Deed = (control: Control) => unknown;

const ANYWHERE: Record<string, Deed> = {
    ArrowLeft: (control) => control.move(-MOVE),
    ArrowRight: (control) => control.move(MOVE),
    '+': (control) => control.zoom(ZOOM),
    '=': (control) => control.zoom(ZOOM),
    '-': (control) => control.zoom(1 / ZOOM),
    '0': (control) => control.goWhole(),
    ...Object.fromEntries(
        ofCalls<[string, Deed]>(
            ['[', (control) => control.step(true)],
            [']', (control) => control.step(false)],
            ['/', () => document.querySelector<HTMLInputElement>('.timeline-search input')?.focus()],
        ),
    ),
    Escape: (control) => control.choose(undefined),
};

const ON_TIMELINE: Record<string, Deed> = {
    ArrowUp: (control) => control.zoom(ZOOM),
    ArrowDown: (control) => control.zoom(1 / ZOOM),
    w: (control) => control.zoom(ZOOM),
    s: (control) => control.zoom(1 / ZOOM),
    a: (control) => control.move(-MOVE),
    d: (control) => control.move(MOVE),
    Home: (control) => control.go({ from: control.whole.from, to: control.whole.from + lengthOf(control.span.value) }),
    End: (control) => control.go({ from: control.whole.to - lengthOf(control.span.value), to: control.whole.to }),
    PageUp: (control) => control.move(-1),
    PageDown: (control) => control.move(1),
    Enter: (control) => (control.chosen.value ? focusDetails() : control.step(false)),
};

function focusDetails(): void {
    const details = document.querySelector<HTMLElement>('.timeline-details button, .timeline-details a');
    details?.focus();
}

/** Listens until it is told to end. */
export function listen(control: Control): () => void {
    const press = (event: KeyboardEvent) => {
        if (!does(event)) control.rest();
    };
    const does = (event: KeyboardEvent): boolean => {
        if (!isOurs(event)) return false;
        const here = event.target instanceof Element && event.target.closest('.timeline-canvas') !== null;
        const deed = (here ? ON_TIMELINE[event.key] : undefined) ?? ANYWHERE[event.key];
        if (!deed) return false;
        event.preventDefault();
        event.stopPropagation();
        deed(control);
        return true;
    };
    const rest = () => control.rest();
    // Before the page's own keys and links, which lead to other views: the window goes with the reader.
    addEventListener('keydown', press, { capture: true });
    addEventListener('click', rest, { capture: true });
    return () => {
        removeEventListener('keydown', press, { capture: true });
        removeEventListener('click', rest, { capture: true });
    };
}
