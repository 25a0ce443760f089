// State of the timeline. The window changes immediately; the address, and with it the other views, follows after a pause.

import { computed, effect, signal } from '@preact/signals';
import type { RecordingSummary } from '../../answers/about';
import { answerSource } from '../../answers/answer-source';
import { locationName, siteIndicesAt } from '../../links/source-location';
import { formatRanks, parseRanks } from '../../ranks';
import { select, selection, setViewParam } from '../../state/address';
import type { CurrentRecording } from '../../state/current-recording';
import { AXIS, GUTTER, laneCounts, type Scene, type SelectedCall } from './scene';
import { clampSpan, covers, durationOf, isSameSpan, overlaps, shiftSpan, type TimeSpan, zoomSpan } from './time-span';
import { activeColumns, cellDuration, type FoundCall, nearestCall } from './timeline-data';
import { type RasterLayout, TimelineQueries } from './timeline-queries';

/** Limit of the server. */
const MAX_COLUMNS = 4096;

/** Finer windows are below the resolution of clocks. */
const MIN_WINDOW_NS = 50;
/** Maximum zoom into the raster of a standalone file, in remaining cells. */
const MIN_CELLS = 20;
const DEBOUNCE_MS = 250;
/** Maximum row height, unless all rows together would be lower than the minimum. */
const MAX_ROW_HEIGHT = 40;
const MIN_ROWS_HEIGHT = 200;
const MIN_ROW_HEIGHT = 3;
/** Height of a thread's lane where single calls of several threads are drawn. */
const LANE_HEIGHT = 14;

/** The most rows of threads: with more, only those of the first ranks are shown. */
const MAX_THREAD_ROWS = 256;
/** With at most this many threads in all, each has a row by default. */
const MAX_DEFAULT_THREADS = 64;

export const GROUPINGS = ['rank', 'thread', 'host', 'role'] as const;

export type Grouping = (typeof GROUPINGS)[number];

/** A search for a call, forwards or backwards from a time. */
interface CallQuery {
    from: number;
    back: boolean;
    operation?: string;
    /** Any of these call sites. */
    sites?: number[];
    /** A kind of wait state, or `any`. */
    wait?: string;
    /** Minimum duration of the call, or of its wait if `wait` is set. */
    longer?: number;
    /** Ranks to search; the shown ranks by default. */
    ranks?: string;
}

export class TimelineController {
    readonly recording: number;
    readonly summary: RecordingSummary;
    readonly ranks: number;
    readonly whole: TimeSpan;
    readonly queries: TimelineQueries;
    readonly span;
    /** Available size in pixels, and font scale. */
    readonly viewport = signal({ width: 0, height: 480, larger: 1 });
    /** Width of the row labels. */
    readonly gutter = computed(() => GUTTER * this.viewport.value.larger);
    /** End of the selected call, once known. */
    readonly selectedCallEnd = signal<number | undefined>(undefined);
    readonly grouping = computed(() => GROUPINGS.find((one) => one === selection.value.viewParams.by) ?? this.defaultGrouping());
    /** Ranks to show; undefined for all. */
    readonly shownRanks = computed(() => formatRanks(parseRanks(selection.value.viewParams.show ?? '', this.ranks)) || undefined);
    readonly hiddenKinds = computed(() => parseNames(selection.value.viewParams.off));
    readonly hiddenLayers = computed(() => parseNames(selection.value.viewParams.hide));
    readonly selectedCall = computed<SelectedCall | undefined>(() => {
        const [, rank, enter] = /^(\d+)@(\d+)$/.exec(selection.value.viewParams.call ?? '') ?? [];
        return rank === undefined ? undefined : { rank: Number(rank), enter: Number(enter), leave: this.selectedCallEnd.value };
    });
    readonly scene;
    // Separate signals, so that other changes of the selection do not reset the window.
    readonly #from = computed(() => selection.value.from);
    readonly #to = computed(() => selection.value.to);
    #timer: ReturnType<typeof setTimeout> | undefined;
    /** Cancels the previous search: a later request wins even if an earlier answer arrives late. */
    #findAbort = new AbortController();
    readonly #disposers: (() => void)[] = [];

    constructor({ index, recording }: CurrentRecording) {
        this.recording = index;
        this.summary = recording;
        this.ranks = recording.ranks;
        this.whole = { from: recording.begin_ns, to: Math.max(recording.begin_ns + 1, recording.end_ns) };
        this.queries = new TimelineQueries(this.whole);
        this.span = signal(this.#selectedSpan());
        this.scene = computed(() => this.#buildScene());
        this.#disposers.push(
            effect(() => {
                const selected = this.#selectedSpan();
                if (!isSameSpan(selected, this.span.peek())) this.span.value = selected;
            }),
            effect(() => {
                if (this.viewport.value.width > this.gutter.value) this.queries.request(this.#rasterLayout(), this.span.value);
            }),
        );
    }

    dispose(): void {
        clearTimeout(this.#timer);
        this.#findAbort.abort();
        for (const end of this.#disposers) end();
        this.queries.dispose();
    }

    /** Threads of OpenMP have rows of their own if they are not too many. */
    defaultGrouping(): Grouping {
        const { openmp_threads } = this.summary;
        return openmp_threads > 1 && openmp_threads * this.ranks <= MAX_DEFAULT_THREADS ? 'thread' : 'rank';
    }

    /** Minimum duration of the window. */
    minDuration(): number {
        const raster = this.queries.overview.value;
        if (answerSource.isLive || !raster) return Math.min(MIN_WINDOW_NS, durationOf(this.whole));
        return Math.min(durationOf(this.whole), (MIN_CELLS * durationOf(raster.span)) / raster.columns);
    }

    /** Where a call site is in the source. */
    siteName(index: number): string {
        const found = this.summary.sites[index];
        return found ? locationName(found) : 'an unknown place';
    }

    /** Shows a window; `step` adds a history entry. */
    showSpan(span: TimeSpan, step = false): void {
        const next = clampSpan(span, this.whole, this.minDuration());
        if (isSameSpan(next, this.span.value)) return;
        this.span.value = next;
        clearTimeout(this.#timer);
        this.#timer = undefined;
        if (step) this.#writeAddress(false);
        else this.#timer = setTimeout(() => this.flush(), DEBOUNCE_MS);
    }

    /** Writes a pending window to the address. */
    flush(): void {
        if (this.#timer === undefined) return;
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#writeAddress(true);
    }

    zoom(factor: number, around = (this.span.value.from + this.span.value.to) / 2): void {
        this.showSpan(zoomSpan(this.span.value, factor, around));
    }

    move(part: number): void {
        this.showSpan(shiftSpan(this.span.value, part));
    }

    showWholeRun(): void {
        this.showSpan(this.whole, true);
    }

    /** Shows the span from the first to the last activity of any rank. */
    showActiveSpan(): void {
        const raster = this.queries.overview.value;
        if (!raster) return;
        const { first, end } = activeColumns(raster);
        const cell = cellDuration(raster);
        if (end > first) this.showSpan({ from: raster.span.from + first * cell, to: raster.span.from + end * cell }, true);
    }

    /** Selects a call to show its details, or none. The window only moves if the call is outside of it. */
    selectCall(call: { rank: number; enter: number; leave: number } | undefined): void {
        this.#findAbort.abort();
        this.selectedCallEnd.value = call?.leave;
        setViewParam('call', call ? `${call.rank}@${call.enter}` : '');
        if (!call || overlaps(this.span.value, { from: call.enter, to: call.leave + 1 })) return;
        const length = Math.max(durationOf(this.span.value), 1.2 * (call.leave - call.enter));
        const middle = (call.enter + call.leave) / 2;
        this.showSpan({ from: middle - length / 2, to: middle + length / 2 });
    }

    /** Zooms until the call fills most of the window. */
    zoomTo(call: { enter: number; leave: number }): void {
        const margin = Math.max(10, 0.15 * (call.leave - call.enter));
        this.showSpan({ from: call.enter - margin, to: call.leave + margin }, true);
    }

    /** Searches for a call. The result is ignored if another search or selection has started, or the view was left. */
    find(
        { back, ranks, sites, ...rest }: CallQuery,
        then: (found: FoundCall | null) => void,
        refused = (reason: string) => this.#setStatus(reason),
    ): void {
        this.#findAbort.abort();
        this.#findAbort = new AbortController();
        const { signal } = this.#findAbort;
        const query = { ...rest, ranks: ranks ?? this.shownRanks.value, back: back ? 1 : undefined };
        const queries = (sites ?? [undefined]).map((site) => answerSource.json<FoundCall | null>(this.recording, 'find', { ...query, site }, signal));
        Promise.all(queries).then(
            (found) => {
                if (!signal.aborted) then(nearestCall(found, back));
            },
            (error: unknown) => {
                if (!signal.aborted) refused(error instanceof Error ? error.message : String(error));
            },
        );
    }

    #setStatus(what: string): void {
        this.queries.status.value = what;
    }

    /** Selects the neighbour of the selected call on its rank; without one, the first call in the window on the first selected rank. */
    stepCall(back: boolean): void {
        if (!answerSource.isLive) return;
        const { selectedCall, span } = this;
        const rank = selectedCall.value?.rank ?? parseRanks(selection.value.ranks ?? this.shownRanks.value ?? '0', this.ranks)[0] ?? 0;
        const from = selectedCall.value ? selectedCall.value.enter + (back ? 0 : 1) : span.value.from;
        this.find({ from, back, ranks: String(rank) }, (found) => found && this.selectCall(found));
    }

    toggle(list: 'off' | 'hide', name: string): void {
        const names = new Set(list === 'off' ? this.hiddenKinds.value : this.hiddenLayers.value);
        if (!names.delete(name)) names.add(name);
        setViewParam(list, [...names].join());
    }

    #selectedSpan(): TimeSpan {
        const [from, to] = [this.#from.value, this.#to.value];
        if (from === undefined || to === undefined || !(to > from)) return this.whole;
        return clampSpan({ from, to }, this.whole, Math.min(MIN_WINDOW_NS, durationOf(this.whole)));
    }

    #writeAddress(replace: boolean): void {
        const span = this.span.value;
        select(isSameSpan(span, this.whole) ? { from: undefined, to: undefined } : span, replace);
    }

    #rasterLayout(): RasterLayout {
        const { width, height, larger: scale } = this.viewport.value;
        const fitting = Math.max(1, Math.min(400, this.ranks, Math.floor((height - AXIS * scale) / MIN_ROW_HEIGHT)));
        const rows = this.grouping.value === 'thread' ? MAX_THREAD_ROWS : fitting;
        const { recording, ranks } = this;
        const columns = Math.min(MAX_COLUMNS, Math.max(100, Math.round(width - this.gutter.value)));
        return { recording, ranks, by: this.grouping.value, show: this.shownRanks.value, rows, columns };
    }

    #buildScene(): Scene {
        const { queries } = this;
        const rasters = queries.rasters.value;
        const newest = rasters.at(-1);
        const span = this.span.value;
        const rows = newest?.rows ?? [];
        const { width, height, larger: scale } = this.viewport.value;
        const hidden = this.hiddenLayers.value;
        const { ranks, site, operation } = selection.value;
        const single = rows.every((row) => row.ranks.length === 1);
        const calls = single && queries.calls.value && covers(queries.calls.value.span, span) ? queries.calls.value.list : undefined;
        const messages = queries.messages.value && covers(queries.messages.value.span, span) ? queries.messages.value.list : undefined;
        const lanes = calls ? Math.max(1, ...laneCounts({ calls, rows }).values()) : 1;
        const rowMost = scale * Math.max(MAX_ROW_HEIGHT, lanes > 1 ? LANE_HEIGHT * lanes : 0);
        const axis = AXIS * scale;
        return {
            span,
            width,
            height: Math.min(height, axis + Math.max(rowMost * rows.length, Math.min(MIN_ROWS_HEIGHT, 2 * rowMost * Math.max(1, rows.length)))),
            fontScale: scale,
            gutter: this.gutter.value,
            axis,
            rows,
            kinds: newest?.kinds ?? [],
            rasters,
            calls,
            regions: this.grouping.value === 'thread' ? queries.regions.value?.list : undefined,
            regionName: (index) => this.siteName(index),
            messages: hidden.has('messages') ? undefined : messages,
            hiddenKinds: this.hiddenKinds.value,
            showsWaiting: !hidden.has('waiting'),
            showsNoCore: !hidden.has('no-core'),
            showsPath: !hidden.has('path'),
            ranks: ranks === undefined ? undefined : new Set(parseRanks(ranks, this.ranks)),
            sites: site === undefined ? undefined : siteIndicesAt(this.summary, site),
            operation,
            selectedCall: this.selectedCall.value,
        };
    }
}

const parseNames = (list: string | undefined): Set<string> => new Set((list ?? '').split(',').filter((name) => name !== ''));
