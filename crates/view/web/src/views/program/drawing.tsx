// The drawing of the program: zoomed with the wheel or the keys, moved by dragging; places in it lead to their call sites.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import { placeName, sitesAt } from '../../links/place';
import { isOurs } from '../../shell/ours';
import { go, selection, setOwn } from '../../state/address';
import { useResting } from '../../state/resting';
import { safeDrawing } from './safe';

/** How large it is shown, and which point of it is in the upper left corner. */
interface Shown {
    scale: number;
    x: number;
    y: number;
}

const STEP = 1.2;
/** For each pixel that a wheel would scroll: trackpads turn it in many small steps. */
const WHEEL = 1.002;
const LEAST = 0.05;
const MOST = 6;
const KEY_MOVES = 60;
/** How long it rests before the address has its place: browsers let a page write there only so often. */
const REST_MS = 250;

export function Drawing({ text, recorded }: { text: string; recorded: Recorded }) {
    const frame = useRef<HTMLDivElement>(null);
    const paper = useRef<HTMLDivElement>(null);
    const [shown, setShown] = useState<Shown>(() => readPlace(selection.value.own.place) ?? { scale: 1, x: 0, y: 0 });
    /** Where it was put by hand; undefined if it fits its frame. */
    const [placed, setPlaced] = useState(selection.value.own.place);
    const [drag, setDrag] = useState<{ x: number; y: number; from: Shown }>();
    const svg = useMemo(() => safeDrawing(text), [text]);
    const put = (next: (now: Shown) => Shown) => {
        setShown((now) => {
            const then = next(now);
            setPlaced(written(then));
            return then;
        });
    };
    const fit = () => {
        if (frame.current && svg) setShown(fitting(frame.current, svg));
        setPlaced(undefined);
    };
    const rested = useResting(placed, REST_MS);
    useEffect(() => setOwn('place', rested ?? ''), [rested]);
    const { site } = selection.value;
    useLayoutEffect(() => {
        if (!paper.current || !svg) return;
        // Its styles are its own: in a shadow they do not reach the page.
        const shadow = paper.current.shadowRoot ?? paper.current.attachShadow({ mode: 'open' });
        shadow.replaceChildren(svg);
        linkPlaces(svg, recorded);
        if (placed === undefined) fit();
    }, [svg, recorded]);
    useLayoutEffect(() => {
        if (svg) markPlaces(svg, recorded, site);
    }, [svg, recorded, site]);
    useEffect(() => {
        const element = frame.current;
        const turn = (event: WheelEvent) => {
            event.preventDefault();
            const box = element?.getBoundingClientRect();
            if (box) put((now) => zoomed(now, WHEEL ** -event.deltaY, event.clientX - box.left, event.clientY - box.top));
        };
        element?.addEventListener('wheel', turn, { passive: false });
        return () => element?.removeEventListener('wheel', turn);
    }, []);
    const middle = (factor: number) =>
        put((now) => zoomed(now, factor, (frame.current?.clientWidth ?? 0) / 2, (frame.current?.clientHeight ?? 0) / 2));
    const press = (event: KeyboardEvent) => {
        if (!isOurs(event)) return;
        const moves: Record<string, [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
        const move = moves[event.key];
        if (move) put((now) => ({ ...now, x: now.x + move[0] * KEY_MOVES, y: now.y + move[1] * KEY_MOVES }));
        else if (event.key === '+' || event.key === '=') middle(STEP);
        else if (event.key === '-') middle(1 / STEP);
        else if (event.key === '0') fit();
        else return;
        event.preventDefault();
    };
    if (!svg) return <p>The drawing cannot be read.</p>;
    return (
        <>
            <div class="drawing-tools">
                <button type="button" onClick={() => middle(STEP)} aria-label="Larger" title="Larger (+)">
                    +
                </button>
                <button type="button" onClick={() => middle(1 / STEP)} aria-label="Smaller" title="Smaller (-)">
                    −
                </button>
                <button type="button" onClick={fit} title="All of it (0)">
                    Fit
                </button>
                <button type="button" onClick={() => put(() => ({ scale: 1, x: 0, y: 0 }))}>
                    1 : 1
                </button>
            </div>
            <div
                ref={frame}
                class={drag ? 'drawing dragged' : 'drawing'}
                tabIndex={0}
                role="group"
                aria-label="Drawing of the program: arrow keys move it, plus and minus zoom"
                onKeyDown={press}
                onPointerDown={(event) => {
                    if (event.button === 0 && !isText(event)) setDrag({ x: event.clientX, y: event.clientY, from: shown });
                }}
                onPointerMove={(event) => {
                    if (!drag) return;
                    const [right, down] = [event.clientX - drag.x, event.clientY - drag.y];
                    put(() => ({ ...drag.from, x: drag.from.x + right, y: drag.from.y + down }));
                }}
                onPointerUp={() => setDrag(undefined)}
                onPointerLeave={() => setDrag(undefined)}
            >
                <div ref={paper} class="paper" style={{ transform: `translate(${shown.x}px, ${shown.y}px) scale(${shown.scale})` }} />
            </div>
        </>
    );
}

/** A place as the address has it: `1.2,-40,0`. */
const written = ({ scale, x, y }: Shown): string => [scale.toFixed(3), Math.round(x), Math.round(y)].join();

function readPlace(text: string | undefined): Shown | undefined {
    const [scale = 0, x = 0, y = 0] = (text ?? '').split(',').map(Number);
    return scale >= LEAST && scale <= MOST && Number.isFinite(x + y) ? { scale, x, y } : undefined;
}

/** Text can be selected; what is dragged is everything else. */
const isText = (event: Event): boolean => event.composedPath().some((one) => one instanceof SVGTextElement);

function zoomed({ scale, x, y }: Shown, factor: number, atX: number, atY: number): Shown {
    const next = Math.min(MOST, Math.max(LEAST, scale * factor));
    const change = next / scale;
    return { scale: next, x: atX - (atX - x) * change, y: atY - (atY - y) * change };
}

/** How much larger than it was drawn it becomes where there is room. */
const LARGEST_FIT = 1.6;

/** As wide as its frame, and as high if that leaves it legible. */
function fitting(frame: HTMLElement, svg: SVGSVGElement): Shown {
    const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))];
    if (!(width > 0) || !(height > 0)) return { scale: 1, x: 0, y: 0 };
    const scale = Math.min(LARGEST_FIT, Math.max(frame.clientWidth / width, LEAST));
    const whole = Math.min(scale, Math.max(frame.clientHeight / height, 0.6 * scale));
    return { scale: whole, x: Math.max(0, (frame.clientWidth - whole * width) / 2), y: 0 };
}

/** A place in the drawing, such as `apps/cg.c:40 main`, leads to its call site. */
function linkPlaces(svg: SVGSVGElement, recorded: Recorded): void {
    for (const [text, site] of placesIn(svg, recorded)) {
        const open = () => go('sites', { site, operation: undefined });
        text.setAttribute('role', 'link');
        text.setAttribute('tabindex', '0');
        text.style.cursor = 'pointer';
        text.style.textDecoration = 'underline';
        text.addEventListener('click', open);
        text.addEventListener('keydown', (event) => {
            if (event.key === 'Enter') open();
        });
    }
}

/** Makes the call site that is selected stand out. */
function markPlaces(svg: SVGSVGElement, recorded: Recorded, selected: number | undefined): void {
    const same = selected === undefined ? [] : sitesAt(recorded, selected);
    for (const [text, site] of placesIn(svg, recorded)) {
        const isMarked = same.includes(site);
        text.style.fontWeight = isMarked ? '700' : '';
        if (isMarked) text.setAttribute('aria-current', 'true');
        else text.removeAttribute('aria-current');
    }
}

/** The texts of a drawing that name call sites, and their numbers. */
function placesIn(svg: SVGSVGElement, recorded: Recorded): [SVGTextElement, number][] {
    const sites = new Map(recorded.sites.map((site, number) => [placeName(site), number]));
    return [...svg.querySelectorAll<SVGTextElement>('text.place')].flatMap((text): [SVGTextElement, number][] => {
        const written = text.textContent ?? '';
        const site = sites.get(written) ?? sites.get(written.split(' ')[0] ?? '');
        return site === undefined ? [] : [[text, site]];
    });
}
