// Queries the data of a window: cached data at once, the rest after a pause. Obsolete queries are cancelled.

import { type Signal, signal } from '@preact/signals';
import { answerSource, PendingError } from '../../answers/answer-source';
import { type Region, type RegionColumns, toRegions } from './thread-regions';
import { covers, isSameSpan, type TimeSpan } from './time-span';
import * as answers from './timeline-data';

/** Rows and resolution of a raster. */
export interface RasterLayout {
    recording: number;
    ranks: number;
    by: 'rank' | 'thread' | 'host' | 'role';
    /** Ranks to show, as in `0-3,7`. */
    show: string | undefined;
    rows: number;
    columns: number;
}

/** Complete data of a span. */
export interface CachedSpan<Thing> {
    span: TimeSpan;
    list: Thing[];
    /** Whether the analysis was available: wait states depend on it. */
    hasAnalysis: boolean;
}

/** How long a window must stay unchanged before it is queried. */
const DEBOUNCE_MS = 25;
/** Retry intervals while an answer is pending, and while the analysis is missing. */
const RETRY_MS = 400;
const ANALYSIS_RETRY_MS = 1500;
const ANALYSIS_RETRY_MAX_MS = 10_000;
/** With more calls or messages, single ones could not be distinguished. */
const MAX_CALLS = 20_000;
const MAX_MESSAGES = 300;
/** The longest regions are enough to name those that can be seen. */
const MAX_REGIONS = 4000;
/** Limits of the raster cache. A cell takes 16 bytes, including its images. */
const MAX_CACHED_RASTERS = 32;
const MAX_CACHED_CELLS = 4_000_000;

export class TimelineQueries {
    /** Rasters of the current layout, newest last. */
    readonly rasters = signal<answers.Raster[]>([]);
    /** The whole run, for the overview strip. */
    readonly overview = signal<answers.Raster | undefined>(undefined);
    readonly calls = signal<CachedSpan<answers.Call> | undefined>(undefined);
    readonly messages = signal<CachedSpan<answers.Message> | undefined>(undefined);
    /** OpenMP regions; `isComplete` if they are all of the span. */
    readonly regions = signal<{ span: TimeSpan; list: Region[]; isComplete: boolean } | undefined>(undefined);
    /** Current activity or error; empty if there is none. */
    readonly status: Signal<string> = signal('');
    /** Why wait states and critical path are unavailable. */
    readonly unavailableReason: Signal<string> = signal(answerSource.isLive ? 'being analysed' : 'not in this file');
    /** Whether the analysis may still become available. */
    readonly isAnalysisPending: Signal<boolean> = signal(answerSource.isLive);
    #layout: RasterLayout | undefined;
    #abort = new AbortController();
    #timer: ReturnType<typeof setTimeout> | undefined;
    #analysisTimer: ReturnType<typeof setTimeout> | undefined;
    #analysisRetryMs = ANALYSIS_RETRY_MS;
    readonly #disposed = new AbortController();
    /** Whether the recording has messages to show. */
    #hasMessages = true;
    /** Whether rasters without the analysis must be queried again. */
    #refreshWithAnalysis = false;
    #span: TimeSpan;

    constructor(readonly whole: TimeSpan) {
        this.#span = whole;
    }

    /** Requests the data of a window. */
    request(layout: RasterLayout, span: TimeSpan): void {
        if (!this.#layout || rowsKey(layout) !== rowsKey(this.#layout)) this.#clear();
        this.#layout = layout;
        this.#span = span;
        this.#abort.abort();
        this.#abort = new AbortController();
        clearTimeout(this.#timer);
        const { signal } = this.#abort;
        const query = () => {
            this.#query(layout, span, signal).catch((error: unknown) => {
                if (signal.aborted) return;
                this.status.value = error instanceof Error ? error.message : String(error);
                if (error instanceof PendingError) this.#timer = setTimeout(query, RETRY_MS);
            });
        };
        this.#timer = setTimeout(query, this.rasters.value.length === 0 ? 0 : DEBOUNCE_MS);
    }

    dispose(): void {
        this.#abort.abort();
        this.#disposed.abort();
        clearTimeout(this.#timer);
        clearTimeout(this.#analysisTimer);
    }

    #clear(): void {
        this.rasters.value = [];
        this.calls.value = undefined;
        this.messages.value = undefined;
        this.regions.value = undefined;
    }

    async #query(layout: RasterLayout, span: TimeSpan, signal: AbortSignal): Promise<void> {
        const raster = await this.#queryRaster(layout, span, signal);
        if (signal.aborted) return;
        this.status.value = '';
        const hasAnalysis = raster.waiting !== undefined;
        const single = raster.rows.every((row) => row.ranks.length === 1);
        await Promise.all([
            this.#queryOverview(layout, raster, signal),
            layout.by === 'thread' ? this.#queryRegions(layout, span, signal) : undefined,
            answerSource.isLive && single && raster.calls <= MAX_CALLS ? this.#queryCalls(layout, span, hasAnalysis, signal) : undefined,
            answerSource.isLive && this.#hasMessages && hasFewMessages(raster) ? this.#queryMessages(layout, span, hasAnalysis, signal) : undefined,
        ]);
        if (answerSource.isLive && !signal.aborted && !hasAnalysis) this.#scheduleAnalysisCheck();
    }

    async #queryRaster(layout: RasterLayout, span: TimeSpan, signal: AbortSignal): Promise<answers.Raster> {
        const isGood = (one: answers.Raster) =>
            !answerSource.isLive ||
            (isSameSpan(one.requestedSpan, span) &&
                one.requestedColumns === layout.columns &&
                (one.waiting !== undefined || !this.#refreshWithAnalysis));
        const known = this.rasters.value.find(isGood);
        if (known) return known;
        const all = isSameSpan(span, this.whole);
        const by = layout.by === 'rank' ? undefined : layout.by;
        const part = { from: all ? undefined : span.from, to: all ? undefined : span.to, columns: layout.columns, rows: layout.rows };
        const query = answerSource.isLive ? { ...part, ranks: layout.show, by } : { by };
        const answer = await answerSource.binary<answers.RasterHeader>(layout.recording, 'timeline', query, signal);
        const raster = answers.decodeRaster(answer, layout.ranks, answerSource.isLive ? { span, columns: layout.columns } : undefined);
        if (signal.aborted) return raster;
        if (this.#refreshWithAnalysis && raster.waiting !== undefined) this.#hasMessages = true;
        this.#refreshWithAnalysis = false;
        this.rasters.value = [
            ...newestRasters(
                this.rasters.value.filter((one) => !isSameSpan(one.requestedSpan, span)),
                raster,
            ),
            raster,
        ];
        return raster;
    }

    async #queryOverview(layout: RasterLayout, raster: answers.Raster, signal: AbortSignal): Promise<void> {
        if (this.overview.value) return;
        const showsAll = isSameSpan(raster.requestedSpan, this.whole) && layout.by === 'rank' && layout.show === undefined;
        if (!answerSource.isLive || showsAll) {
            this.overview.value = raster;
            return;
        }
        const answer = await answerSource.binary<answers.RasterHeader>(layout.recording, 'timeline', { columns: layout.columns, rows: 32 }, signal);
        this.overview.value ??= answers.decodeRaster(answer, layout.ranks);
    }

    async #queryCalls(layout: RasterLayout, span: TimeSpan, hasAnalysis: boolean, signal: AbortSignal): Promise<void> {
        if (isCached(this.calls.value, span, hasAnalysis)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * MAX_CALLS };
        const columns = await answerSource.json<answers.CallColumns>(layout.recording, 'calls', query, signal);
        if (columns.many === null && !signal.aborted) this.calls.value = { span, list: answers.toCalls(columns, span.from), hasAnalysis };
    }

    async #queryRegions(layout: RasterLayout, span: TimeSpan, signal: AbortSignal): Promise<void> {
        const known = this.regions.value;
        if (known && covers(known.span, span) && (known.isComplete || !answerSource.isLive || isSameSpan(known.span, span))) return;
        const query = answerSource.isLive ? { from: span.from, to: span.to, ranks: layout.show, most: MAX_REGIONS } : {};
        // Regions are optional: a recording may have none.
        const columns = await answerSource.json<RegionColumns>(layout.recording, 'regions', query, signal).catch(() => undefined);
        if (!columns || signal.aborted) return;
        const list = toRegions(columns);
        this.regions.value = { span: answerSource.isLive ? span : this.whole, list, isComplete: list.length === columns.count };
    }

    async #queryMessages(layout: RasterLayout, span: TimeSpan, hasAnalysis: boolean, signal: AbortSignal): Promise<void> {
        if (isCached(this.messages.value, span, hasAnalysis)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * MAX_MESSAGES };
        const columns = await answerSource.json<answers.MessageColumns>(layout.recording, 'messages', query, signal).catch((error: unknown) => {
            // Messages are optional.
            if (error instanceof PendingError) this.#scheduleAnalysisCheck();
            else if (!signal.aborted) this.#hasMessages = false;
        });
        if (columns?.many === null && !signal.aborted) this.messages.value = { span, list: answers.toMessages(columns), hasAnalysis };
    }

    /** The analysis takes longer: answers without it are queried again once it is available. */
    #scheduleAnalysisCheck(): void {
        if (this.#analysisTimer !== undefined || !this.isAnalysisPending.value) return;
        this.#analysisTimer = setTimeout(() => void this.#checkAnalysis(), this.#analysisRetryMs);
        this.#analysisRetryMs = Math.min(2 * this.#analysisRetryMs, ANALYSIS_RETRY_MAX_MS);
    }

    /** Querying messages reveals the state of the analysis, because they depend on it. */
    async #checkAnalysis(): Promise<void> {
        this.#analysisTimer = undefined;
        const layout = this.#layout;
        if (!layout) return;
        const query = { from: this.whole.from, to: this.whole.from + 1, most: 1 };
        try {
            await answerSource.json<answers.MessageColumns>(layout.recording, 'messages', query, this.#disposed.signal);
            this.#refreshWithAnalysis = true;
            this.request(this.#layout ?? layout, this.#span);
        } catch (error) {
            if (this.#disposed.signal.aborted) return;
            this.isAnalysisPending.value = error instanceof PendingError;
            this.unavailableReason.value =
                error instanceof PendingError ? `${error.activity} …` : error instanceof Error ? error.message : String(error);
            this.#scheduleAnalysisCheck();
        }
    }
}

/** Determines the rows. Rasters with the same rows can be drawn over each other, whatever their resolution. */
const rowsKey = ({ recording, by, show, rows }: RasterLayout): string => JSON.stringify([recording, by, show, rows]);

/** Whether all data of a span is cached, with the analysis if it is available. */
const isCached = (known: CachedSpan<unknown> | undefined, span: TimeSpan, hasAnalysis: boolean): boolean =>
    known !== undefined && covers(known.span, span) && (known.hasAnalysis || !hasAnalysis);

/** The newest rasters that fit into the cache beside one more. */
function newestRasters(rasters: answers.Raster[], more: answers.Raster): answers.Raster[] {
    let cells = more.kind.length;
    let first = rasters.length;
    while (first > 0 && rasters.length - first < MAX_CACHED_RASTERS - 1) {
        cells += rasters[first - 1]?.kind.length ?? 0;
        if (cells > MAX_CACHED_CELLS) break;
        first--;
    }
    return rasters.slice(first);
}

/** If messages were not counted, estimate them from the calls. */
const hasFewMessages = ({ messages, calls }: answers.Raster): boolean => messages !== 'many' && (messages ?? calls / 3) <= MAX_MESSAGES;
