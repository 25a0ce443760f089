// What is shown now, and how it changes. The window moves here at once; the address follows when it rests, and other views with it.

import { computed, effect, signal } from '@preact/signals';
import type { Recorded } from '../../answers/about';
import { source } from '../../answers/source';
import { sitesAt } from '../../links/place';
import { parse, write } from '../../ranks';
import { select, selection, setOwn } from '../../state/address';
import type { Present } from '../../state/present';
import { cellOf, columnsAtWork, type Found, nearest } from './answers';
import { Asking, type Layout } from './asking';
import { AXIS, type Chosen, GUTTER, lanesOf, type Scene } from './scene';
import { covers, lengthOf, moved, same, type Span, touches, within, zoomed } from './span';

/** The command draws no more. */
const MOST_COLUMNS = 4096;

/** Nobody measures times more finely. */
const LEAST_NS = 50;
/** A picture in a file is stretched until so many of its cells are left. */
const LEAST_CELLS = 20;
const REST_MS = 250;
/** How high a row is at most, unless there are so few that all together would be less than this. */
const ROW_MOST = 40;
const ROWS_LEAST = 200;
const ROW_LEAST = 3;
/** How high the lane of each thread is, where single calls of several threads are drawn. */
const LANE = 14;

export const BY = ['rank', 'host', 'role'] as const;

/** A call that is looked for: from a moment on, or back from it. */
interface Wanted {
    from: number;
    back: boolean;
    operation?: string;
    /** Any of these call sites. */
    sites?: number[];
    /** A kind of waits, or any. */
    wait?: string;
    /** Of the call, or of its wait if one is looked for. */
    longer?: number;
    /** Of these ranks, or else of those that are shown. */
    ranks?: string;
}

export class Control {
    readonly recording: number;
    readonly recorded: Recorded;
    readonly ranks: number;
    readonly whole: Span;
    readonly asking: Asking;
    readonly span;
    /** How much room there is, in pixels, and how many times as large as usual letters are. */
    readonly room = signal({ width: 0, height: 480, larger: 1 });
    /** The room for the names of rows. */
    readonly gutter = computed(() => GUTTER * this.room.value.larger);
    /** The end of the call whose details are shown, once it is known. */
    readonly leave = signal<number | undefined>(undefined);
    readonly by = computed(() => BY.find((one) => one === selection.value.own.by) ?? 'rank');
    /** Only these ranks, if not all are shown. */
    readonly show = computed(() => write(parse(selection.value.own.show ?? '', this.ranks)) || undefined);
    readonly off = computed(() => namesIn(selection.value.own.off));
    readonly hidden = computed(() => namesIn(selection.value.own.hide));
    readonly chosen = computed<Chosen | undefined>(() => {
        const [, rank, enter] = /^(\d+)@(\d+)$/.exec(selection.value.own.call ?? '') ?? [];
        return rank === undefined ? undefined : { rank: Number(rank), enter: Number(enter), leave: this.leave.value };
    });
    readonly scene;
    // Of their own, so that a change of something else does not move the window back to them.
    readonly #from = computed(() => selection.value.from);
    readonly #to = computed(() => selection.value.to);
    #timer: ReturnType<typeof setTimeout> | undefined;
    /** Ends what is being looked for: a later wish wins, however late the answer to an earlier one comes. */
    #finding = new AbortController();
    readonly #ends: (() => void)[] = [];

    constructor({ number, recorded }: Present) {
        this.recording = number;
        this.recorded = recorded;
        this.ranks = recorded.ranks;
        this.whole = { from: recorded.begin_ns, to: Math.max(recorded.begin_ns + 1, recorded.end_ns) };
        this.asking = new Asking(this.whole);
        this.span = signal(this.#selected());
        this.scene = computed(() => this.#scene());
        this.#ends.push(
            effect(() => {
                const selected = this.#selected();
                if (!same(selected, this.span.peek())) this.span.value = selected;
            }),
            effect(() => {
                if (this.room.value.width > this.gutter.value) this.asking.want(this.#layout(), this.span.value);
            }),
        );
    }

    end(): void {
        clearTimeout(this.#timer);
        this.#finding.abort();
        for (const end of this.#ends) end();
        this.asking.end();
    }

    /** The shortest window. */
    least(): number {
        const picture = this.asking.overview.value;
        if (source.live || !picture) return Math.min(LEAST_NS, lengthOf(this.whole));
        return Math.min(lengthOf(this.whole), (LEAST_CELLS * lengthOf(picture.span)) / picture.columns);
    }

    /** Shows a window; `step` makes it one that can be taken back. */
    go(span: Span, step = false): void {
        const next = within(span, this.whole, this.least());
        if (same(next, this.span.value)) return;
        this.span.value = next;
        clearTimeout(this.#timer);
        this.#timer = undefined;
        if (step) this.#write(false);
        else this.#timer = setTimeout(() => this.rest(), REST_MS);
    }

    /** Takes the window into the address, if it is not there yet. */
    rest(): void {
        if (this.#timer === undefined) return;
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#write(true);
    }

    zoom(factor: number, around = (this.span.value.from + this.span.value.to) / 2): void {
        this.go(zoomed(this.span.value, factor, around));
    }

    move(part: number): void {
        this.go(moved(this.span.value, part));
    }

    goWhole(): void {
        this.go(this.whole, true);
    }

    /** From the first moment that any rank was at work to the last. */
    goWork(): void {
        const picture = this.asking.overview.value;
        if (!picture) return;
        const { first, end } = columnsAtWork(picture);
        const cell = cellOf(picture);
        if (end > first) this.go({ from: picture.span.from + first * cell, to: picture.span.from + end * cell }, true);
    }

    /** Shows the details of a call, or none; the window moves only if the call is outside it. */
    choose(call: { rank: number; enter: number; leave: number } | undefined): void {
        this.#finding.abort();
        this.leave.value = call?.leave;
        setOwn('call', call ? `${call.rank}@${call.enter}` : '');
        if (!call || touches(this.span.value, { from: call.enter, to: call.leave + 1 })) return;
        const length = Math.max(lengthOf(this.span.value), 1.2 * (call.leave - call.enter));
        const middle = (call.enter + call.leave) / 2;
        this.go({ from: middle - length / 2, to: middle + length / 2 });
    }

    /** Makes a call fill most of the window. */
    zoomTo(call: { enter: number; leave: number }): void {
        const margin = Math.max(10, 0.15 * (call.leave - call.enter));
        this.go({ from: call.enter - margin, to: call.leave + margin }, true);
    }

    /** Looks for a call. Nothing is done with the answer if meanwhile another one is looked for or chosen, or the timeline is left. */
    find({ back, ranks, sites, ...rest }: Wanted, then: (found: Found | null) => void, refused = (why: string) => this.#say(why)): void {
        this.#finding.abort();
        this.#finding = new AbortController();
        const { signal } = this.#finding;
        const query = { ...rest, ranks: ranks ?? this.show.value, back: back ? 1 : undefined };
        const asked = (sites ?? [undefined]).map((site) => source.json<Found | null>(this.recording, 'find', { ...query, site }, signal));
        Promise.all(asked).then(
            (found) => {
                if (!signal.aborted) then(nearest(found, back));
            },
            (error: unknown) => {
                if (!signal.aborted) refused(error instanceof Error ? error.message : String(error));
            },
        );
    }

    #say(what: string): void {
        this.asking.says.value = what;
    }

    /** The neighbour of the chosen call on its rank; without one, the first call that the window shows of the first selected rank. */
    step(back: boolean): void {
        if (!source.live) return;
        const { chosen, span } = this;
        const rank = chosen.value?.rank ?? parse(selection.value.ranks ?? this.show.value ?? '0', this.ranks)[0] ?? 0;
        const from = chosen.value ? chosen.value.enter + (back ? 0 : 1) : span.value.from;
        this.find({ from, back, ranks: String(rank) }, (found) => found && this.choose(found));
    }

    toggle(list: 'off' | 'hide', name: string): void {
        const names = new Set(list === 'off' ? this.off.value : this.hidden.value);
        if (!names.delete(name)) names.add(name);
        setOwn(list, [...names].join());
    }

    #selected(): Span {
        const [from, to] = [this.#from.value, this.#to.value];
        if (from === undefined || to === undefined || !(to > from)) return this.whole;
        return within({ from, to }, this.whole, Math.min(LEAST_NS, lengthOf(this.whole)));
    }

    #write(replace: boolean): void {
        const span = this.span.value;
        select(same(span, this.whole) ? { from: undefined, to: undefined } : span, replace);
    }

    #layout(): Layout {
        const { width, height, larger } = this.room.value;
        const rows = Math.max(1, Math.min(400, this.ranks, Math.floor((height - AXIS * larger) / ROW_LEAST)));
        const { recording, ranks } = this;
        const columns = Math.min(MOST_COLUMNS, Math.max(100, Math.round(width - this.gutter.value)));
        return { recording, ranks, by: this.by.value, show: this.show.value, rows, columns };
    }

    #scene(): Scene {
        const { asking } = this;
        const pictures = asking.pictures.value;
        const newest = pictures.at(-1);
        const span = this.span.value;
        const rows = newest?.rows ?? [];
        const { width, height, larger } = this.room.value;
        const hidden = this.hidden.value;
        const { ranks, site, operation } = selection.value;
        const single = rows.every((row) => row.ranks.length === 1);
        const calls = single && asking.calls.value && covers(asking.calls.value.span, span) ? asking.calls.value.list : undefined;
        const messages = asking.messages.value && covers(asking.messages.value.span, span) ? asking.messages.value.list : undefined;
        const lanes = calls ? Math.max(1, ...lanesOf(calls).values()) : 1;
        const rowMost = larger * Math.max(ROW_MOST, lanes > 1 ? LANE * lanes : 0);
        const axis = AXIS * larger;
        return {
            span,
            width,
            height: Math.min(height, axis + Math.max(rowMost * rows.length, Math.min(ROWS_LEAST, 2 * rowMost * Math.max(1, rows.length)))),
            larger,
            gutter: this.gutter.value,
            axis,
            rows,
            kinds: newest?.kinds ?? [],
            pictures,
            calls,
            messages: hidden.has('messages') ? undefined : messages,
            off: this.off.value,
            showsWaiting: !hidden.has('waiting'),
            showsPath: !hidden.has('path'),
            ranks: ranks === undefined ? undefined : new Set(parse(ranks, this.ranks)),
            sites: site === undefined ? undefined : sitesAt(this.recorded, site),
            operation,
            chosen: this.chosen.value,
        };
    }
}

const namesIn = (list: string | undefined): Set<string> => new Set((list ?? '').split(',').filter((name) => name !== ''));
