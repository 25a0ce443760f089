// The drawing of the program: zoomed with the wheel or the keys, moved by dragging; places in it lead to their call sites.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import { placeName } from '../../links/place';
import { isOurs } from '../../shell/ours';
import { go } from '../../state/address';
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

export function Drawing({ text, recorded }: { text: string; recorded: Recorded }) {
    const frame = useRef<HTMLDivElement>(null);
    const paper = useRef<HTMLDivElement>(null);
    const [shown, setShown] = useState<Shown>({ scale: 1, x: 0, y: 0 });
    const [drag, setDrag] = useState<{ x: number; y: number; from: Shown }>();
    const svg = useMemo(() => safeDrawing(text), [text]);
    const fit = () => {
        if (frame.current && svg) setShown(fitting(frame.current, svg));
    };
    useLayoutEffect(() => {
        if (!paper.current || !svg) return;
        // Its styles are its own: in a shadow they do not reach the page.
        const shadow = paper.current.shadowRoot ?? paper.current.attachShadow({ mode: 'open' });
        shadow.replaceChildren(svg);
        linkPlaces(svg, recorded);
        fit();
    }, [svg, recorded]);
    useEffect(() => {
        const element = frame.current;
        const turn = (event: WheelEvent) => {
            event.preventDefault();
            const box = element?.getBoundingClientRect();
            if (box) setShown((now) => zoomed(now, WHEEL ** -event.deltaY, event.clientX - box.left, event.clientY - box.top));
        };
        element?.addEventListener('wheel', turn, { passive: false });
        return () => element?.removeEventListener('wheel', turn);
    }, []);
    const middle = (factor: number) => setShown(zoomed(shown, factor, (frame.current?.clientWidth ?? 0) / 2, (frame.current?.clientHeight ?? 0) / 2));
    const press = (event: KeyboardEvent) => {
        if (!isOurs(event)) return;
        const moves: Record<string, [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
        const move = moves[event.key];
        if (move) setShown({ ...shown, x: shown.x + move[0] * KEY_MOVES, y: shown.y + move[1] * KEY_MOVES });
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
                <button type="button" onClick={() => setShown({ scale: 1, x: 0, y: 0 })}>
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
                    if (drag) setShown({ ...drag.from, x: drag.from.x + event.clientX - drag.x, y: drag.from.y + event.clientY - drag.y });
                }}
                onPointerUp={() => setDrag(undefined)}
                onPointerLeave={() => setDrag(undefined)}
            >
                <div ref={paper} class="paper" style={{ transform: `translate(${shown.x}px, ${shown.y}px) scale(${shown.scale})` }} />
            </div>
        </>
    );
}

/** Text can be selected; what is dragged is everything else. */
const isText = (event: Event): boolean => event.composedPath().some((one) => one instanceof SVGTextElement);

function zoomed({ scale, x, y }: Shown, factor: number, atX: number, atY: number): Shown {
    const next = Math.min(MOST, Math.max(LEAST, scale * factor));
    const change = next / scale;
    return { scale: next, x: atX - (atX - x) * change, y: atY - (atY - y) * change };
}

/** As wide as its frame, but not larger than it was drawn. */
function fitting(frame: HTMLElement, svg: SVGSVGElement): Shown {
    const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))];
    if (!(width > 0) || !(height > 0)) return { scale: 1, x: 0, y: 0 };
    const scale = Math.min(1, Math.max(frame.clientWidth / width, LEAST));
    const whole = Math.min(scale, Math.max(frame.clientHeight / height, 0.6 * scale));
    return { scale: whole, x: Math.max(0, (frame.clientWidth - whole * width) / 2), y: 0 };
}

/** A place in the drawing, such as `apps/cg.c:40 main`, leads to its call site. */
function linkPlaces(svg: SVGSVGElement, recorded: Recorded): void {
    const sites = new Map(recorded.sites.map((site, number) => [placeName(site), number]));
    for (const text of svg.querySelectorAll<SVGTextElement>('text.place')) {
        const written = text.textContent ?? '';
        const site = sites.get(written) ?? sites.get(written.split(' ')[0] ?? '');
        if (site === undefined) continue;
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
