// The flame graph on a canvas, with mouse and keyboard navigation.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { textColourOn } from '../../charts/contrast';
import { fontScale } from '../../charts/font-scale';
import { canvasRenderer, type Renderer, svgRenderer } from '../../charts/renderer';
import { svgElement } from '../../charts/svg';
import { isPageShortcut } from '../../shell/page-shortcut';
import type { CallNode } from './call-tree';
import { mixColours } from './flame-colours';
import { boxAt, type FlameBox, type FlameLayout, flameLayout, neighbour } from './flame-layout';

export interface FlameDrawing {
    layout: FlameLayout;
    width: number;
    colourOf: (node: CallNode) => string;
    /** Nodes that are drawn in full colour. */
    isLit: (node: CallNode) => boolean;
    colours: { background: string; text: string; accent: string };
}

interface Props {
    drawing: FlameDrawing;
    cursor: CallNode | undefined;
    /** Called with the node under the pointer, or reached by keys, and its position in pixels. */
    point: (node: CallNode | undefined, x: number, y: number) => void;
    choose: (node: CallNode) => void;
    zoomOut: () => void;
}

const ROW_HEIGHT = 19;
const CHAR_WIDTH = 7.1;
const PADDING = 4;
/** Share of the background in boxes that are not lit. */
const FADED = 0.72;
const ABOVE = 0.45;

const rowHeight = (): number => ROW_HEIGHT * fontScale();

export function FlameCanvas({ drawing, cursor, point, choose, zoomOut }: Props) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const { layout, width } = drawing;
    const height = layout.rows * rowHeight();
    useLayoutEffect(() => {
        const context = canvas.current?.getContext('2d');
        if (!canvas.current || !context || width <= 0) return;
        const pixelRatio = devicePixelRatio || 1;
        canvas.current.width = Math.round(width * pixelRatio);
        canvas.current.height = Math.round(height * pixelRatio);
        context.scale(pixelRatio, pixelRatio);
        drawFlameGraph(canvasRenderer(context), drawing, cursor);
    });
    /** The canvas may be higher than the frame that it scrolls in. */
    const frame = () => canvas.current?.parentElement;
    const scrolled = () => frame()?.scrollTop ?? 0;
    const boxUnder = (event: MouseEvent) => boxAt(layout, event.offsetX, Math.floor(event.offsetY / rowHeight()));
    const reach = (node: CallNode | undefined) => {
        const box = layout.boxes.find((one) => one.node === node);
        if (!box) return;
        const [top, bottom] = [box.row * rowHeight(), (box.row + 1) * rowHeight()];
        const visible = frame()?.clientHeight ?? 0;
        frame()?.scrollTo({ top: Math.min(top, Math.max(scrolled(), bottom - visible)) });
        point(box.node, Math.min(width, box.x + Math.min(40, box.width / 2)), bottom - scrolled());
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (!isPageShortcut(event)) return;
        const first = layout.boxes.find((box) => !box.isAbove)?.node;
        const at = cursor ?? first;
        if (!at) return;
        const isDrawn = (node: CallNode) => layout.boxes.some((box) => box.node === node);
        if (event.key === 'ArrowUp') reach(at.parent);
        else if (event.key === 'ArrowDown') reach(cursor ? at.children.find(isDrawn) : at);
        else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') reach(neighbour(layout, at, event.key === 'ArrowRight'));
        else if (event.key === 'Enter') choose(at);
        else if (event.key === '0' || event.key === 'Escape') zoomOut();
        else return;
        event.preventDefault();
    };
    return (
        <>
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas handles its own keys */}
            <canvas
                ref={canvas}
                class="flame-canvas"
                style={{ width: `${width}px`, height: `${height}px` }}
                tabIndex={0}
                role="application"
                aria-label="Flame graph: arrow keys move between functions, Enter zooms to one, 0 shows all"
                data-boxes={layout.boxes.length}
                onMouseMove={(event) => point(boxUnder(event)?.node, event.offsetX, event.offsetY - scrolled() + 14)}
                onMouseLeave={() => point(undefined, 0, 0)}
                onBlur={() => point(undefined, 0, 0)}
                onClick={(event) => {
                    const box = boxUnder(event);
                    if (box) choose(box.node);
                }}
                onKeyDown={onKeyDown}
            />
        </>
    );
}

/** The flame graph as SVG, at a given width. */
export function flameSvg(drawing: FlameDrawing, zoomed: CallNode, width: number): SVGSVGElement {
    const layout = flameLayout(zoomed, width);
    const result = svgElement('svg', { width, height: layout.rows * rowHeight() });
    drawFlameGraph(svgRenderer(result), { ...drawing, layout, width }, undefined);
    return result;
}

function drawFlameGraph(renderer: Renderer, drawing: FlameDrawing, cursor: CallNode | undefined): void {
    for (const box of drawing.layout.boxes) drawBox(renderer, drawing, box);
    const marked = drawing.layout.boxes.find(({ node }) => node === cursor);
    if (marked) {
        const { x, width, row } = marked;
        renderer.frame(x + 0.5, row * rowHeight() + 0.5, Math.max(1, width - 2), rowHeight() - 2, drawing.colours.accent, 2);
    }
}

function drawBox(renderer: Renderer, { colourOf, isLit, colours }: FlameDrawing, { node, x, width, row, isAbove }: FlameBox): void {
    const full = colourOf(node);
    const faded = isLit(node) ? (isAbove ? ABOVE : 0) : FADED;
    const fill = faded > 0 ? mixColours(full, colours.background, faded) : full;
    const height = rowHeight();
    renderer.box(x, row * height, width > 3 ? width - 1 : width, height - 1, fill);
    const letters = Math.floor((width - 2 * PADDING) / (CHAR_WIDTH * fontScale()));
    if (letters < 3) return;
    const label = node.label.length <= letters ? node.label : `${node.label.slice(0, letters - 1)}…`;
    renderer.text(x + PADDING, (row + 0.5) * height - 0.5, label, { colour: textColourOn(fill) });
}
