// Keyboard shortcuts of the timeline. Letters and scrolling keys only apply while the canvas has the focus.

import { answerSource } from '../../answers/answer-source';
import { isPageShortcut } from '../../shell/page-shortcut';
import { durationOf } from './time-span';
import type { TimelineController } from './timeline-controller';

const ZOOM_FACTOR = 0.6;
const MOVE_SHARE = 0.2;

type ShortcutHelp = [key: string, does: string];

/** For the help dialog. */
export const TIMELINE_SHORTCUTS: ShortcutHelp[] = [
    ['← → or A D', 'move'],
    ['↑ ↓ or W S, + −', 'zoom'],
    ['0', 'the whole run'],
    ['Home End', 'go to the start, the end'],
    ...callShortcuts<ShortcutHelp>(
        ['[ ]', 'previous, next call'],
        ['Enter', 'details of the call'],
        ['/', 'search'],
        ['double click', 'zoom to a call'],
    ),
    ['wheel, drag', 'zoom, move'],
    ['Shift+drag, or drag on the axis', 'zoom to a window'],
    ['drag over labels', 'select ranks'],
];

/** Shortcuts for single calls, which a standalone file does not have. */
function callShortcuts<One>(...keys: One[]): One[] {
    return answerSource.isLive ? keys : [];
}

type ShortcutAction = (controller: TimelineController) => unknown;

const GLOBAL_ACTIONS: Record<string, ShortcutAction> = {
    ArrowLeft: (controller) => controller.move(-MOVE_SHARE),
    ArrowRight: (controller) => controller.move(MOVE_SHARE),
    '+': (controller) => controller.zoom(ZOOM_FACTOR),
    '=': (controller) => controller.zoom(ZOOM_FACTOR),
    '-': (controller) => controller.zoom(1 / ZOOM_FACTOR),
    '0': (controller) => controller.showWholeRun(),
    ...Object.fromEntries(
        callShortcuts<[string, ShortcutAction]>(
            ['[', (controller) => controller.stepCall(true)],
            [']', (controller) => controller.stepCall(false)],
            ['/', () => document.querySelector<HTMLInputElement>('.timeline-search input')?.focus()],
        ),
    ),
    Escape: (controller) => controller.selectCall(undefined),
};

const CANVAS_ACTIONS: Record<string, ShortcutAction> = {
    ArrowUp: (controller) => controller.zoom(ZOOM_FACTOR),
    ArrowDown: (controller) => controller.zoom(1 / ZOOM_FACTOR),
    w: (controller) => controller.zoom(ZOOM_FACTOR),
    s: (controller) => controller.zoom(1 / ZOOM_FACTOR),
    a: (controller) => controller.move(-MOVE_SHARE),
    d: (controller) => controller.move(MOVE_SHARE),
    Home: (controller) => controller.showSpan({ from: controller.whole.from, to: controller.whole.from + durationOf(controller.span.value) }),
    End: (controller) => controller.showSpan({ from: controller.whole.to - durationOf(controller.span.value), to: controller.whole.to }),
    PageUp: (controller) => controller.move(-1),
    PageDown: (controller) => controller.move(1),
    Enter: (controller) => (controller.selectedCall.value ? focusDetails() : controller.stepCall(false)),
};

function focusDetails(): void {
    const details = document.querySelector<HTMLElement>('.timeline-details button, .timeline-details a');
    details?.focus();
}

/** Returns a function that removes the listeners. */
export function listenForShortcuts(controller: TimelineController): () => void {
    const onKeyDown = (event: KeyboardEvent) => {
        if (!does(event)) controller.flush();
    };
    const does = (event: KeyboardEvent): boolean => {
        if (!isPageShortcut(event)) return false;
        const here = event.target instanceof Element && event.target.closest('.timeline-canvas') !== null;
        const action = (here ? CANVAS_ACTIONS[event.key] : undefined) ?? GLOBAL_ACTIONS[event.key];
        if (!action) return false;
        event.preventDefault();
        event.stopPropagation();
        action(controller);
        return true;
    };
    const rest = () => controller.flush();
    // Capture phase: before shortcuts and links that leave the view, so that the window is in the address.
    addEventListener('keydown', onKeyDown, { capture: true });
    addEventListener('click', rest, { capture: true });
    return () => {
        removeEventListener('keydown', onKeyDown, { capture: true });
        removeEventListener('click', rest, { capture: true });
    };
}
