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
}

/** How long a window must not change before it is asked for. */
const REST_MS = 25;
/** How often a question is put again while the command works on it, and while the analysis is still missing. */
const AGAIN_MS = 400;
const ANALYSIS_AGAIN_MS = 1500;
const ANALYSIS_AGAIN_MOST_MS = 30_000;
/** With more calls or messages they would not be told apart. */
const CALLS_MOST = 20_000;
const MESSAGES_MOST = 300;
const KEPT = 32;

export class Asking {
    /** Pictures of the present layout, the newest last. */
    readonly pictures = signal<answers.Picture[]>([]);
    /** The whole run, for the strip. */
    readonly overview = signal<answers.Picture | undefined>(undefined);
    readonly calls = signal<Known<answers.Call> | undefined>(undefined);
    readonly messages = signal<Known<answers.Message> | undefined>(undefined);
    /** What is being done, or why there is nothing to see; empty if all is well. */
    readonly says: Signal<string> = signal('');
    #layout: Layout | undefined;
    #stop = new AbortController();
    #timer: ReturnType<typeof setTimeout> | undefined;
    #analysisTimer: ReturnType<typeof setTimeout> | undefined;
    #analysisWait = ANALYSIS_AGAIN_MS;
    /** Whether the recording can tell which messages there were. */
    #tellsMessages = true;
    /** Whether what was answered without the analysis is asked for again. */
    #again = false;
    #span: Span;

    constructor(readonly whole: Span) {
        this.#span = whole;
    }

    /** What is wanted now. */
    want(layout: Layout, span: Span): void {
        if (JSON.stringify(layout) !== JSON.stringify(this.#layout)) this.#forget(layout);
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
        clearTimeout(this.#timer);
        clearTimeout(this.#analysisTimer);
    }

    #forget(layout: Layout): void {
        this.#layout = layout;
        this.pictures.value = [];
        this.calls.value = undefined;
        this.messages.value = undefined;
    }

    async #ask(layout: Layout, span: Span, stop: AbortSignal): Promise<void> {
        const picture = await this.#picture(layout, span, stop);
        if (stop.aborted) return;
        this.says.value = '';
        await this.#overview(layout, picture);
        if (!source.live || stop.aborted) return;
        const single = picture.rows.every((row) => row.ranks.length === 1);
        await Promise.all([
            single && picture.calls <= CALLS_MOST ? this.#calls(layout, span, stop) : undefined,
            this.#tellsMessages && hasFewMessages(picture) ? this.#messages(layout, span, stop) : undefined,
        ]);
        if (picture.waiting === undefined) this.#askAgainForAnalysis();
    }

    async #picture(layout: Layout, span: Span, stop: AbortSignal): Promise<answers.Picture> {
        const isGood = (one: answers.Picture) => !source.live || (same(one.asked, span) && (one.waiting !== undefined || !this.#again));
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
        const picture = answers.picture(got, layout.ranks, source.live ? span : undefined);
        if (stop.aborted) return picture;
        if (this.#again && picture.waiting !== undefined) {
            this.calls.value = undefined;
            this.#tellsMessages = true;
        }
        this.#again = false;
        this.pictures.value = [...this.pictures.value.filter((one) => !same(one.asked, span)).slice(1 - KEPT), picture];
        return picture;
    }

    async #overview(layout: Layout, picture: answers.Picture): Promise<void> {
        if (this.overview.value) return;
        if (!source.live || same(picture.asked, this.whole)) {
            this.overview.value = picture;
            return;
        }
        const asked = await source.binary<answers.Header>(layout.recording, 'timeline', { columns: layout.columns, rows: 32 });
        this.overview.value ??= answers.picture(asked, layout.ranks);
    }

    async #calls(layout: Layout, span: Span, stop: AbortSignal): Promise<void> {
        if (this.calls.value && covers(this.calls.value.span, span)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * CALLS_MOST };
        const columns = await source.json<answers.CallColumns>(layout.recording, 'calls', query, stop);
        if (columns.many === null && !stop.aborted) this.calls.value = { span, list: answers.calls(columns, span.from) };
    }

    async #messages(layout: Layout, span: Span, stop: AbortSignal): Promise<void> {
        if (this.messages.value && covers(this.messages.value.span, span)) return;
        const query = { from: span.from, to: span.to, ranks: layout.show, most: 2 * MESSAGES_MOST };
        const columns = await source.json<answers.MessageColumns>(layout.recording, 'messages', query, stop).catch((error: unknown) => {
            // Everything else can be seen without them.
            if (error instanceof Working) this.#askAgainForAnalysis();
            else if (!stop.aborted) this.#tellsMessages = false;
        });
        if (columns?.many === null && !stop.aborted) this.messages.value = { span, list: answers.messages(columns) };
    }

    /** Waits and the critical path take longer to find: what was answered without them is asked for again, less and less often. */
    #askAgainForAnalysis(): void {
        clearTimeout(this.#analysisTimer);
        this.#analysisTimer = setTimeout(() => {
            this.#again = true;
            if (this.#layout) this.want(this.#layout, this.#span);
        }, this.#analysisWait);
        this.#analysisWait = Math.min(2 * this.#analysisWait, ANALYSIS_AGAIN_MOST_MS);
    }
}

/** Where nobody has counted the messages, there are no more of them than calls. */
const hasFewMessages = ({ messages, calls }: answers.Picture): boolean => messages !== 'many' && (messages ?? calls / 3) <= MESSAGES_MOST;
