// The program graph: zoom with the wheel or keys, move by dragging; locations are links to their call sites.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import { locationName, siteIndicesAt } from '../../links/source-location';
import { isPageShortcut } from '../../shell/page-shortcut';
import { navigate, selection, setViewParam } from '../../state/address';
import { useDebounced } from '../../state/debounce';
import { sanitizeSvg } from './sanitize-svg';

/** Scale, and offset of the upper left corner. */
interface DrawingTransform {
    scale: number;
    x: number;
    y: number;
}

const ZOOM_STEP = 1.2;
/** Per pixel of scrolling; trackpads send many small steps. */
const WHEEL_ZOOM = 1.002;
const MIN_SCALE = 0.05;
const MAX_SCALE = 6;
const KEY_STEP_PX = 60;
/** Debounce for the address; browsers limit the rate of history updates. */
const DEBOUNCE_MS = 250;

export function GraphDrawing({ text, recording }: { text: string; recording: RecordingSummary }) {
    const frame = useRef<HTMLDivElement>(null);
    const paper = useRef<HTMLDivElement>(null);
    const [shown, setShown] = useState<DrawingTransform>(() => parseTransform(selection.value.viewParams.place) ?? { scale: 1, x: 0, y: 0 });
    /** Position chosen by the user; undefined if it is fitted to the frame. */
    const [placed, setPlaced] = useState(selection.value.viewParams.place);
    const [drag, setDrag] = useState<{ x: number; y: number; from: DrawingTransform }>();
    const svg = useMemo(() => sanitizeSvg(text), [text]);
    const put = (next: (now: DrawingTransform) => DrawingTransform) => {
        setShown((now) => {
            const then = next(now);
            setPlaced(formatTransform(then));
            return then;
        });
    };
    const fit = () => {
        if (frame.current && svg) setShown(fitTransform(frame.current, svg));
        setPlaced(undefined);
    };
    const debounced = useDebounced(placed, DEBOUNCE_MS);
    useEffect(() => setViewParam('place', debounced ?? ''), [debounced]);
    const { site } = selection.value;
    useLayoutEffect(() => {
        if (!paper.current || !svg) return;
        // A shadow root keeps the drawing's styles from affecting the page.
        const shadow = paper.current.shadowRoot ?? paper.current.attachShadow({ mode: 'open' });
        shadow.replaceChildren(svg);
        linkLocations(svg, recording);
        if (placed === undefined) fit();
    }, [svg, recording]);
    useLayoutEffect(() => {
        if (svg) highlightLocations(svg, recording, site);
    }, [svg, recording, site]);
    useEffect(() => {
        const element = frame.current;
        const onWheel = (event: WheelEvent) => {
            event.preventDefault();
            const box = element?.getBoundingClientRect();
            if (box) put((now) => zoomAround(now, WHEEL_ZOOM ** -event.deltaY, event.clientX - box.left, event.clientY - box.top));
        };
        element?.addEventListener('wheel', onWheel, { passive: false });
        return () => element?.removeEventListener('wheel', onWheel);
    }, []);
    const middle = (factor: number) =>
        put((now) => zoomAround(now, factor, (frame.current?.clientWidth ?? 0) / 2, (frame.current?.clientHeight ?? 0) / 2));
    const onKeyDown = (event: KeyboardEvent) => {
        if (!isPageShortcut(event)) return;
        const moves: Record<string, [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
        const move = moves[event.key];
        if (move) put((now) => ({ ...now, x: now.x + move[0] * KEY_STEP_PX, y: now.y + move[1] * KEY_STEP_PX }));
        else if (event.key === '+' || event.key === '=') middle(ZOOM_STEP);
        else if (event.key === '-') middle(1 / ZOOM_STEP);
        else if (event.key === '0') fit();
        else return;
        event.preventDefault();
    };
    if (!svg) return <p>The drawing cannot be displayed.</p>;
    return (
        <>
            <div class="drawing-tools">
                <button type="button" onClick={() => middle(ZOOM_STEP)} aria-label="Zoom in" title="Zoom in (+)">
                    +
                </button>
                <button type="button" onClick={() => middle(1 / ZOOM_STEP)} aria-label="Zoom out" title="Zoom out (-)">
                    −
                </button>
                <button type="button" onClick={fit} title="Fit to the frame (0)">
                    Fit
                </button>
                <button type="button" onClick={() => put(() => ({ scale: 1, x: 0, y: 0 }))}>
                    1 : 1
                </button>
            </div>
            {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would change the layout */}
            <div
                ref={frame}
                class={drag ? 'drawing dragged' : 'drawing'}
                // biome-ignore lint/a11y/noNoninteractiveTabindex: the drawing handles keys
                tabIndex={0}
                role="group"
                aria-label="Drawing of the program: arrow keys move, plus and minus zoom"
                onKeyDown={onKeyDown}
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

/** A transform in the address: `1.2,-40,0`. */
const formatTransform = ({ scale, x, y }: DrawingTransform): string => [scale.toFixed(3), Math.round(x), Math.round(y)].join();

function parseTransform(text: string | undefined): DrawingTransform | undefined {
    const [scale = 0, x = 0, y = 0] = (text ?? '').split(',').map(Number);
    return scale >= MIN_SCALE && scale <= MAX_SCALE && Number.isFinite(x + y) ? { scale, x, y } : undefined;
}

/** Text remains selectable; dragging starts anywhere else. */
const isText = (event: Event): boolean => event.composedPath().some((one) => one instanceof SVGTextElement);

function zoomAround({ scale, x, y }: DrawingTransform, factor: number, atX: number, atY: number): DrawingTransform {
    const next = Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale * factor));
    const change = next / scale;
    return { scale: next, x: atX - (atX - x) * change, y: atY - (atY - y) * change };
}

/** Maximum enlargement when fitting. */
const MAX_FIT_SCALE = 1.6;

/** Fits the width, and also the height if it stays legible. */
function fitTransform(frame: HTMLElement, svg: SVGSVGElement): DrawingTransform {
    const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))];
    if (!(width > 0) || !(height > 0)) return { scale: 1, x: 0, y: 0 };
    const scale = Math.min(MAX_FIT_SCALE, Math.max(frame.clientWidth / width, MIN_SCALE));
    const whole = Math.min(scale, Math.max(frame.clientHeight / height, 0.6 * scale));
    return { scale: whole, x: Math.max(0, (frame.clientWidth - whole * width) / 2), y: 0 };
}

/** Makes locations in the drawing, such as `apps/cg.c:40 main`, links to their call sites. */
function linkLocations(svg: SVGSVGElement, recording: RecordingSummary): void {
    for (const [text, site] of locationTexts(svg, recording)) {
        const open = () => navigate('sites', { site, operation: undefined });
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

/** Highlights the selected call site. */
function highlightLocations(svg: SVGSVGElement, recording: RecordingSummary, selected: number | undefined): void {
    const same = selected === undefined ? [] : siteIndicesAt(recording, selected);
    for (const [text, site] of locationTexts(svg, recording)) {
        const isMarked = same.includes(site);
        text.style.fontWeight = isMarked ? '700' : '';
        if (isMarked) text.setAttribute('aria-current', 'true');
        else text.removeAttribute('aria-current');
    }
}

/** Text elements that name call sites, with the indices of these. */
function locationTexts(svg: SVGSVGElement, recording: RecordingSummary): [SVGTextElement, number][] {
    const sites = new Map(recording.sites.map((site, number) => [locationName(site), number]));
    return [...svg.querySelectorAll<SVGTextElement>('text.place')].flatMap((text): [SVGTextElement, number][] => {
        const written = text.textContent ?? '';
        const site = sites.get(written) ?? sites.get(written.split(' ')[0] ?? '');
        return site === undefined ? [] : [[text, site]];
    });
}
