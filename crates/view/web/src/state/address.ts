// What is shown, kept in the address: whoever gets the address sees the same.
//
// `#timeline?from=1000&to=2000&ranks=0-3` is a view and what is selected. All views read the same selection, so they follow each other.

import { computed, effect, signal } from '@preact/signals';

/** What is selected; what is undefined is not. */
export interface Selection {
    /** Which recording, counted from 0. */
    recording: number;
    /** The window of time, in nanoseconds since the recording began. */
    from?: number;
    to?: number;
    /** Ranks, as in `0-3,7`. */
    ranks?: string;
    /** A call site, by number. */
    site?: number;
    /** An MPI function, by name. */
    operation?: string;
    /** What belongs to one view only, such as the unit of a chart. */
    own: Record<string, string>;
}

/** A view and what is selected in it. */
export interface Address {
    view: string;
    selection: Selection;
}

const NUMBERS = ['from', 'to', 'site'] as const;
const TEXTS = ['ranks', 'operation'] as const;

export function read(hash: string): Address {
    const [view = '', asked = ''] = hash.replace(/^#/, '').split('?');
    const selection: Selection = { recording: 0, own: {} };
    for (const [name, value] of new URLSearchParams(asked)) {
        const number = Number(value);
        const isNumber = value !== '' && Number.isFinite(number);
        if (name === 'recording') selection.recording = isNumber ? Math.max(0, Math.trunc(number)) : 0;
        else if (NUMBERS.some((known) => known === name)) {
            if (isNumber) selection[name as (typeof NUMBERS)[number]] = number;
        } else if (TEXTS.some((known) => known === name)) selection[name as (typeof TEXTS)[number]] = value;
        else selection.own[name] = value;
    }
    // A window has two ends, in their order.
    if (!((selection.to ?? 0) > (selection.from ?? Infinity))) {
        delete selection.from;
        delete selection.to;
    }
    return { view: view || 'overview', selection };
}

export function write({ view, selection }: Address): string {
    const parameters = new URLSearchParams();
    if (selection.recording > 0) parameters.set('recording', String(selection.recording));
    for (const name of [...NUMBERS, ...TEXTS]) {
        const value = selection[name];
        if (value !== undefined) parameters.set(name, String(value));
    }
    for (const [name, value] of Object.entries(selection.own)) parameters.set(name, value);
    return parameters.size > 0 ? `#${view}?${parameters}` : `#${view}`;
}

/** The present address. */
export const address = signal<Address>(read(location.hash));
export const view = computed(() => address.value.view);
export const selection = computed(() => address.value.selection);

addEventListener('hashchange', () => {
    if (location.hash !== write(address.value)) address.value = read(location.hash);
});

/** Changes what is selected; `undefined` takes a part of it away. A step that can be taken back unless `replace`. */
export function select(change: Partial<Selection>, replace = false): void {
    move({ view: address.value.view, selection: { ...address.value.selection, ...change } }, replace);
}

/** No selection of anything inside a recording. */
export const NOTHING: Partial<Selection> = { from: undefined, to: undefined, ranks: undefined, site: undefined, operation: undefined };

/** Changes what belongs to the present view only; an empty text takes it away. */
export function setOwn(name: string, value: string): void {
    const own = { ...address.value.selection.own };
    if (value === '') delete own[name];
    else own[name] = value;
    select({ own }, true);
}

/** What belonged to each view when it was left, so that whoever comes back finds it; of the present recording only. */
const left = new Map<string, Record<string, string>>();
let leftOf = 0;

/** What belongs to a view: as it is, or as it was left. */
export function ownOf(view: string): Record<string, string> {
    const { view: present, selection } = address.value;
    if (view === present) return selection.own;
    return leftOf === selection.recording ? (left.get(view) ?? {}) : {};
}

effect(() => {
    const { view, selection } = address.value;
    if (leftOf !== selection.recording) left.clear();
    leftOf = selection.recording;
    left.set(view, selection.own);
});

/** Goes to another view, with the same selection and what is changed of it; there nothing else is as it was left. */
export function go(view: string, change: Partial<Selection> = {}): void {
    move({ view, selection: { ...address.value.selection, own: {}, ...change } }, false);
}

function move(next: Address, replace: boolean): void {
    const hash = write(next);
    if (hash === write(address.value)) return;
    address.value = next;
    note(hash, replace);
}

/** How soon the address is written again, if the browser did not take it: it takes only so many in a while. */
const AGAIN_MS = 2000;
let again: ReturnType<typeof setTimeout> | undefined;

function note(hash: string, replace: boolean): void {
    clearTimeout(again);
    again = undefined;
    try {
        if (replace) history.replaceState(null, '', hash);
        else history.pushState(null, '', hash);
    } catch {
        again = setTimeout(() => note(write(address.value), true), AGAIN_MS);
    }
}

addEventListener('popstate', () => {
    address.value = read(location.hash);
});
