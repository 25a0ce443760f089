// The state of the page, stored in the URL so that it can be shared.
//
// `#timeline?from=1000&to=2000&ranks=0-3` is a view and a selection. All views share the selection.

import { computed, effect, signal } from '@preact/signals';

/** The selection; undefined parts are not selected. */
export interface Selection {
    /** Index of the recording. */
    recording: number;
    /** Time window, in nanoseconds since the recording began. */
    from?: number;
    to?: number;
    /** Ranks, as in `0-3,7`. */
    ranks?: string;
    /** Index of a call site. */
    site?: number;
    /** Name of an MPI function. */
    operation?: string;
    /** Parameters of the current view only, such as the unit of a chart. */
    viewParams: Record<string, string>;
}

export interface Address {
    view: string;
    selection: Selection;
}

const NUMBERS = ['from', 'to', 'site'] as const;
const TEXTS = ['ranks', 'operation'] as const;

export function parseHash(hash: string): Address {
    const [view = '', params = ''] = hash.replace(/^#/, '').split('?');
    const selection: Selection = { recording: 0, viewParams: {} };
    for (const [name, value] of new URLSearchParams(params)) {
        const number = Number(value);
        const isNumber = value !== '' && Number.isFinite(number);
        if (name === 'recording') selection.recording = isNumber ? Math.max(0, Math.trunc(number)) : 0;
        else if (NUMBERS.some((known) => known === name)) {
            if (isNumber) selection[name as (typeof NUMBERS)[number]] = number;
        } else if (TEXTS.some((known) => known === name)) selection[name as (typeof TEXTS)[number]] = value;
        else selection.viewParams[name] = value;
    }
    // A window needs both ends, in order.
    if (!((selection.to ?? 0) > (selection.from ?? Infinity))) {
        delete selection.from;
        delete selection.to;
    }
    return { view: view || 'overview', selection };
}

export function formatHash({ view, selection }: Address): string {
    const parameters = new URLSearchParams();
    if (selection.recording > 0) parameters.set('recording', String(selection.recording));
    for (const name of [...NUMBERS, ...TEXTS]) {
        const value = selection[name];
        if (value !== undefined) parameters.set(name, String(value));
    }
    for (const [name, value] of Object.entries(selection.viewParams)) parameters.set(name, value);
    return parameters.size > 0 ? `#${view}?${parameters}` : `#${view}`;
}

/** The current address. */
export const address = signal<Address>(parseHash(location.hash));
export const view = computed(() => address.value.view);
export const selection = computed(() => address.value.selection);

addEventListener('hashchange', () => {
    if (location.hash !== formatHash(address.value)) address.value = parseHash(location.hash);
});

/** Changes the selection; `undefined` removes a part. Adds a history entry unless `replace` is set. */
export function select(change: Partial<Selection>, replace = false): void {
    setAddress({ view: address.value.view, selection: { ...address.value.selection, ...change } }, replace);
}

/** Clears everything that is selected inside a recording. */
export const EMPTY_SELECTION: Partial<Selection> = { from: undefined, to: undefined, ranks: undefined, site: undefined, operation: undefined };

/** Sets a parameter of the current view; an empty text removes it. */
export function setViewParam(name: string, value: string): void {
    const own = { ...address.value.selection.viewParams };
    if (value === '') delete own[name];
    else own[name] = value;
    select({ viewParams: own }, true);
}

/** Parameters of each view when it was left, restored on return. Only for the current recording. */
const savedParams = new Map<string, Record<string, string>>();
let savedRecording = 0;

/** Parameters of a view, current or as it was left. */
export function paramsOfView(view: string): Record<string, string> {
    const { view: current, selection } = address.value;
    if (view === current) return selection.viewParams;
    return savedRecording === selection.recording ? (savedParams.get(view) ?? {}) : {};
}

effect(() => {
    const { view, selection } = address.value;
    if (savedRecording !== selection.recording) savedParams.clear();
    savedRecording = selection.recording;
    savedParams.set(view, selection.viewParams);
});

/** Goes to another view with the same selection, plus changes. Saved parameters of that view are not restored. */
export function navigate(view: string, change: Partial<Selection> = {}): void {
    setAddress({ view, selection: { ...address.value.selection, viewParams: {}, ...change } }, false);
}

function setAddress(next: Address, replace: boolean): void {
    const hash = formatHash(next);
    if (hash === formatHash(address.value)) return;
    address.value = next;
    updateHistory(hash, replace);
}

/** Retry delay after the browser rejected a history update; browsers limit their rate. */
const RETRY_MS = 2000;
let retryTimer: ReturnType<typeof setTimeout> | undefined;

function updateHistory(hash: string, replace: boolean): void {
    clearTimeout(retryTimer);
    retryTimer = undefined;
    try {
        if (replace) history.replaceState(null, '', hash);
        else history.pushState(null, '', hash);
    } catch {
        retryTimer = setTimeout(() => updateHistory(formatHash(address.value), true), RETRY_MS);
    }
}

addEventListener('popstate', () => {
    address.value = parseHash(location.hash);
});
