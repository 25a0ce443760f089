// The program graph: zoom with the wheel or keys, move by dragging; locations are links to their call sites, functions and loops unfold and
// fold at a click.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import type { FoldedDrawing } from '../../answers/program';
import { locationName, siteIndicesAt } from '../../links/source-location';
import { isPageShortcut } from '../../shell/page-shortcut';
import { navigate, selection, setViewParam } from '../../state/address';
import { useDebounced } from '../../state/debounce';
import { maxDepth, showDepth, toggleScope } from './folding';
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

export function GraphDrawing({ drawing, recording }: { drawing: FoldedDrawing; recording: RecordingSummary }) {
    const text = drawing.svg;
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
        linkScopes(svg, (scope) => {
            // What was clicked stays where it is.
            put((now) => now);
            toggleScope(drawing, scope);
        });
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
                {(drawing.depths?.length ?? 0) > 0 && <DepthButtons drawing={drawing} />}
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

/** Folds or unfolds everything. */
function DepthButtons({ drawing }: { drawing: FoldedDrawing }) {
    return (
        <>
            <button type="button" onClick={() => showDepth(1)} title="Show the phases only">
                Fold all
            </button>
            <button type="button" onClick={() => showDepth(undefined)} title="Unfold what fits on a screen">
                Screenful
            </button>
            <button type="button" onClick={() => showDepth(maxDepth(drawing))} title="Show every operation">
                Unfold all
            </button>
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

/** Minimum scale at which text can be read; a drawing that is too high for it is scrolled. */
const MIN_LEGIBLE_SCALE = 0.7;

/** Fits the width, and also the height if it stays legible. */
function fitTransform(frame: HTMLElement, svg: SVGSVGElement): DrawingTransform {
    const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))];
    if (!(width > 0) || !(height > 0)) return { scale: 1, x: 0, y: 0 };
    const wide = Math.min(MAX_FIT_SCALE, Math.max(frame.clientWidth / width, MIN_SCALE));
    const whole = Math.min(wide, frame.clientHeight / height);
    const scale = whole >= Math.min(wide, MIN_LEGIBLE_SCALE) ? whole : Math.min(wide, 1);
    return { scale, x: Math.max(0, (frame.clientWidth - scale * width) / 2), y: 0 };
}

/** Makes locations in the drawing, such as `main apps/cg.c:40`, links to their call sites. */
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

/** A press that moves further is a drag, not a click. */
const MAX_CLICK_PX = 4;

/** Makes folded scopes, and the names of open ones, buttons. */
function linkScopes(svg: SVGSVGElement, toggle: (scope: number) => void): void {
    for (const group of svg.querySelectorAll<SVGGElement>('g.fold, g.unfold')) {
        const scope = Number(/scope-(\d+)/.exec(group.getAttribute('class') ?? '')?.[1]);
        const isFolded = group.classList.contains('unfold');
        const name = group.querySelector<SVGTextElement>(isFolded ? 'tspan.name' : 'text.scope-name, text.loop-note');
        const button = isFolded ? group : name;
        if (!button) continue;
        button.setAttribute('role', 'button');
        button.setAttribute('tabindex', '0');
        button.setAttribute('aria-label', `${isFolded ? 'Unfold' : 'Fold'} ${name?.textContent ?? 'the loop'}`);
        button.style.cursor = 'pointer';
        let pressed = { x: 0, y: 0 };
        button.addEventListener('pointerdown', (event) => {
            pressed = { x: event.clientX, y: event.clientY };
        });
        button.addEventListener('click', (event) => {
            if (Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) <= MAX_CLICK_PX) toggle(scope);
        });
        button.addEventListener('keydown', (event) => {
            if (event.key === 'Enter') toggle(scope);
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
        // Function, location and callers: `main apps/cg.c:40 < solve:12`.
        const location = written.split(' ').find((word) => sites.has(word));
        const site = sites.get(written) ?? sites.get(location ?? '');
        return site === undefined ? [] : [[text, site]];
    });
}
