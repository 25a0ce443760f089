// Asks for what a window shows: at once what is known already, the rest when the window rests. Questions that nobody needs any more are dropped.

import { type Signal, signal } from '@preact/signals';
import { source, Working } from '../../answers/source';
import * as answers from './answers';
import { covers, same, type Span } from './span';

/** Which rows a picture has, and how fine it is. */
export interface Layout {
    recording: number;
    /** How many ranks there are. */
    ranks: number;
    by: 'rank' | 'host' | 'role';
    /** Only these, as in `0-3,7`. */
    show: string | undefined;
    rows: number;
    columns: number;
}

/** Something that is known of a whole span. */
export interface Known<Thing> {
    span: Span;
    list: Thing[];
    /** Whether the analysis had been made by then: only with it are there waits. */
    analysed: boolean;
}

/** How long a window must not change before it is asked for. */
const REST_MS = 25;
/** How often a question is put again while the command works on it, and while the analysis is still missing. */
const AGAIN_MS = 400;
const ANALYSIS_AGAIN_MS = 1500;
const ANALYSIS_AGAIN_MOST_MS = 10_000;
/** With more calls or messages they would not be told apart. */
const CALLS_MOST = 20_000;
const MESSAGES_MOST = 300;
/** How many pictures are kept, and how many cells of them all together: a cell takes 16 bytes with its images. */
const KEPT = 32;
const CELLS_KEPT = 4_000_000;

export class Asking {
    /** Pictures of the present layout, the newest last. */
    readonly pictures = signal<answers.Picture[]>([]);
    /** The whole run, for the strip. */
    readonly overview = signal<answers.Picture | undefined>(undefined);
    readonly calls = signal<Known<answers.Call> | undefined>(undefined);
    readonly messages = signal<Known<answers.Message> | undefined>(undefined);
    /** What is being done, or why there is nothing to see; empty if all is well. */
    readonly says: Signal<string> = signal('');
    /** Why waits and the critical path are not known, where they are not. */
    readonly lacks: Signal<string> = signal(source.live ? 'is being looked for' : 'is not in this file');
    /** Whether they may still come. */
    readonly awaits: Signal<boolean> = signal(source.live);
    #layout: Layout | undefined;
    #stop = new AbortController();
    #timer: ReturnType<typeof setTimeout> | undefined;
    #analysisTimer: ReturnType<typeof setTimeout> | undefined;
    #analysisWait = ANALYSIS_AGAIN_MS;
    readonly #ended = new AbortController();
    /** Whether the recording can tell which messages there were. */
    #tellsMessages = true;
    /** Whether pictures without the analysis are asked for again. */
    #again = false;
    #span: Span;

    constructor(readonly whole: Span) {
        this.#span = whole;
    }

    /** What is wanted now. */
    want(layout: Layout, span: Span): void {
        if (!this.#layout || rowsOf(layout) !== rowsOf(this.#layout)) this.#forget();
        this.#layout = layout;
        this.#span = span;
        this.#stop.abort();
        this.#stop = new AbortController();
        clearTimeout(this.#timer);
        const { signal } = this.#stop;
        const asked = () => {
            this.#ask(layout, span, signal).catch((error: unknown) => {
                if (signal.aborted) return;
                this.says.value = error instanceof Error ? error.message : String(error);
                if (error instanceof Working) this.#timer = setTimeout(asked, AGAIN_MS);
            });
        };
        this.#timer = setTimeout(asked, this.pictures.value.length === 0 ? 0 : REST_MS);
    }

    end(): void {
        this.#stop.abort();
        this.#ended.abort();
        clearTimeout(this.#timer);
        clearTimeout(this.#analysisTimer);
    }

    #forget(): void {
        this.pictures.value = [];
        this.calls.value = undefined;
        this.messages.value = undefined;
    }

    async #ask(layout: Layout, span: Span, stop: AbortSignal): Promise<void> {
        const picture = await this.#picture(layout, span, stop);
        if (stop.aborted) return;
        this.says.value = '';
        const analysed = picture.waiting !== undefined;
        const single = picture.rows.every((row) => row.ranks.length === 1);
        await Promise.all([
            this.#overview(layout, picture, stop),
            source.live && single && picture.calls <= CALLS_MOST ? this.#calls(layout, span, analysed, stop) : undefined,
            source.live && this.#tellsMessages && hasFewMessages(picture) ? this.#messages(layout, span, analysed, stop) : undefined,
        ]);
        if (source.live && !stop.aborted && !analysed) this.#waitForAnalysis();
    }

    async #picture(layout: Layout, span: Span, stop: AbortSignal): Promise<answers.Picture> {
        const isGood = (one: answers.Picture) =>
            !source.live || (same(one.asked, span) && one.askedColumns === layout.columns && (one.waiting !== undefined || !this.#again));
        const known = this.pictures.value.find(isGood);
        if (known) return known;
        const all = same(span, this.whole);
        const query = {
            from: all ? undefined : span.from,
            to: all ? undefined : span.to,
            columns: layout.columns,
            rows: layout.rows,
            ranks: layout.show,
            by: layout.by === 'rank' ? undefined : layout.by,
        };
        const got = await source.binary<answers.Header>(layout.recording, 'timeline', query, stop);
        const picture = answers.picture(got, layout.ranks, source.live ? { span, columns: layout.columns } : undefined);
        if (stop.aborted) return picture;
        if (this.#again && picture.waiting !== undefined) this.#tellsMessages = true;
        this.#again = false;
        this.pictures.value = [...newest(this.pictures.value.filter((one) => !same(one.asked, span)), picture), picture];
        return picture;
    }

    async #overview(layout: Layout, picture: answers.Picture, stop: AbortSignal): Promise<void> {
        if (this.overview.value) return;
        const showsAll = same(picture.asked, this.whole) && layout.by === 'rank' && layout.show === undefined;
        if (!source.live || showsAll) {
            this.overview.value = picture;
            return;
        }
        const got = await source.binary<answers.Header>(layout.recording, 'timeline', { columns: layout.columns, rows: 32 }, stop);
        this.overview.value ??= answers.picture(got, layout.ranks);
    }

    async #calls(layout: Layout, span: Span, analysed: boolean, stop: AbortSignal): Promise<void> {
        if (isKnown(this.calls.value, span, analysed)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * CALLS_MOST };
        const columns = await source.json<answers.CallColumns>(layout.recording, 'calls', query, stop);
        if (columns.many === null && !stop.aborted) this.calls.value = { span, list: answers.calls(columns, span.from), analysed };
    }

    async #messages(layout: Layout, span: Span, analysed: boolean, stop: AbortSignal): Promise<void> {
        if (isKnown(this.messages.value, span, analysed)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * MESSAGES_MOST };
        const columns = await source.json<answers.MessageColumns>(layout.recording, 'messages', query, stop).catch((error: unknown) => {
            // Everything else can be seen without them.
            if (error instanceof Working) this.#waitForAnalysis();
            else if (!stop.aborted) this.#tellsMessages = false;
        });
        if (columns?.many === null && !stop.aborted) this.messages.value = { span, list: answers.messages(columns), analysed };
    }

    /** Waits and the critical path take longer to find: what was answered without them is asked for again once they are there. */
    #waitForAnalysis(): void {
        if (this.#analysisTimer !== undefined || !this.awaits.value) return;
        this.#analysisTimer = setTimeout(() => void this.#lookForAnalysis(), this.#analysisWait);
        this.#analysisWait = Math.min(2 * this.#analysisWait, ANALYSIS_AGAIN_MOST_MS);
    }

    /** Messages are known with the analysis, and whoever asks for them hears what has become of it. */
    async #lookForAnalysis(): Promise<void> {
        this.#analysisTimer = undefined;
        const layout = this.#layout;
        if (!layout) return;
        const query = { from: this.whole.from, to: this.whole.from + 1, most: 1 };
        try {
            await source.json<answers.MessageColumns>(layout.recording, 'messages', query, this.#ended.signal);
            this.#again = true;
            this.want(this.#layout ?? layout, this.#span);
        } catch (error) {
            if (this.#ended.signal.aborted) return;
            this.awaits.value = error instanceof Working;
            this.lacks.value = error instanceof Working ? `${error.doing} …` : error instanceof Error ? error.message : String(error);
            this.#waitForAnalysis();
        }
    }
}

/** What decides which rows there are; pictures of the same rows can be drawn over each other, however fine they are. */
const rowsOf = ({ recording, by, show, rows }: Layout): string => JSON.stringify([recording, by, show, rows]);

/** Whether all of a span is known, with the analysis if that has been made. */
const isKnown = (known: Known<unknown> | undefined, span: Span, analysed: boolean): boolean =>
    known !== undefined && covers(known.span, span) && (known.analysed || !analysed);

/** Those of the newest pictures that there is room for beside one more. */
function newest(pictures: answers.Picture[], more: answers.Picture): answers.Picture[] {
    let cells = more.kind.length;
    let first = pictures.length;
    while (first > 0 && pictures.length - first < KEPT - 1) {
        cells += pictures[first - 1]?.kind.length ?? 0;
        if (cells > CELLS_KEPT) break;
        first--;
    }
    return pictures.slice(first);
}

/** Where nobody has counted the messages, there are no more of them than calls. */
const hasFewMessages = ({ messages, calls }: answers.Picture): boolean => messages !== 'many' && (messages ?? calls / 3) <= MESSAGES_MOST;
