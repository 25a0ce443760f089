// The flame graph with its search, zoom and tooltip.

import { useMemo, useState } from 'preact/hooks';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { cssColour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { LiveText } from '../../charts/live-text';
import { useWidth } from '../../charts/use-width';
import { useSearchShortcut } from '../../shell/search-shortcut';
import { selection, setViewParam } from '../../state/address';
import { effectiveTheme } from '../../state/theme';
import { nanoseconds, percent } from '../../units';
import { type CallNode, DIRECTIONS, type Direction, findNode } from './call-tree';
import { callTreeCsv } from './call-tree-csv';
import { FlameCanvas, type FlameDrawing, flameSvg } from './flame-canvas';
import { boxColours, DIFFERENCE_LEGEND, KIND_LEGEND } from './flame-colours';
import { flameLayout } from './flame-layout';
import { nodeLines } from './node-text';
import { type FunctionSearch, matchedShare, parseSearch } from './search';

interface Props {
    root: CallNode;
    direction: Direction;
    choose: (node: CallNode) => void;
}

const DESCRIPTIONS: Record<Direction, string> = {
    callees: 'Each box is a function, as wide as its time; below it are the functions it called.',
    callers: 'The second row are functions, as wide as their own time; below each are its callers.',
};
const SAVED_WIDTH = 1200;
const TOOLTIP_WIDTH = 300;

export function FlameGraph({ root, direction, choose }: Props) {
    const { viewParams } = selection.value;
    const [container, width] = useWidth<HTMLDivElement>();
    const [cursor, setCursor] = useState<{ path: string; x: number; y: number }>();
    const search = useMemo(() => parseSearch(viewParams.search ?? ''), [viewParams.search]);
    const zoomed = findNode(root, viewParams.zoom ?? '') ?? root;
    const layout = useMemo(() => flameLayout(zoomed, width), [zoomed, width]);
    const theme = effectiveTheme.value;
    const colourOf = useMemo(() => boxColours(root, cssColour), [root, theme]);
    const pointed = cursor && findNode(root, cursor.path);
    const isLit = (node: CallNode) => search === undefined || !('matches' in search) || search.matches(node);
    const colours = { background: cssColour('--background'), text: cssColour('--text'), accent: cssColour('--accent') };
    const drawing: FlameDrawing = { layout, width, colourOf, isLit, colours };
    const zoomTo = (node: CallNode) => {
        setViewParam('zoom', node === zoomed ? '' : node.path);
        choose(node);
    };
    return (
        <Figure
            title="Flame graph"
            description={`${DESCRIPTIONS[direction]}${root.base ? ' The width is the time of both together, the colour the difference.' : ''}`}
            legend={root.base ? DIFFERENCE_LEGEND : KIND_LEGEND}
            table={() => callTreeCsv(root)}
            svg={() => flameSvg(drawing, zoomed, SAVED_WIDTH)}
            controls={
                <>
                    <ChoiceButtons
                        label="Below a function"
                        values={DIRECTIONS}
                        value={direction}
                        choose={(value) => setViewParam('tree', value === 'callees' ? '' : value)}
                    />
                    <SearchField search={search} />
                    <button type="button" disabled={zoomed === root} onClick={() => setViewParam('zoom', '')}>
                        Show all
                    </button>
                </>
            }
        >
            <div class="chart flame">
                <div ref={container} class="flame-frame">
                    <FlameCanvas
                        drawing={drawing}
                        cursor={pointed}
                        point={(node, x, y) => setCursor(node && { path: node.path, x, y })}
                        choose={zoomTo}
                        zoomOut={() => setViewParam('zoom', '')}
                    />
                </div>
                {cursor && pointed && <Tooltip lines={nodeLines(root, pointed)} x={cursor.x} y={cursor.y} width={width} />}
            </div>
            <LiveText class="muted flame-status" text={statusText(root, zoomed, pointed, search, layout.isCut)} />
        </Figure>
    );
}

function SearchField({ search }: { search: FunctionSearch }) {
    const input = useSearchShortcut();
    const isInvalid = search !== undefined && 'error' in search;
    return (
        <label>
            <span class="visually-hidden">Search functions by regular expression</span>
            <input
                ref={input}
                type="search"
                placeholder="Search: regular expression ( / )"
                value={selection.value.viewParams.search ?? ''}
                size={28}
                aria-invalid={isInvalid}
                onInput={(event) => setViewParam('search', event.currentTarget.value)}
            />
        </label>
    );
}

function Tooltip({ lines, x, y, width }: { lines: string[]; x: number; y: number; width: number }) {
    const beside = x > width - TOOLTIP_WIDTH ? { right: `${Math.max(0, width - x + 12)}px` } : { left: `${x + 12}px` };
    return (
        <div class="flame-tooltip" role="presentation" style={{ ...beside, top: `${y}px` }}>
            {lines.map((line) => (
                <div key={line}>{line}</div>
            ))}
        </div>
    );
}

/** What is under the cursor, what is found, and what is shown. */
function statusText(root: CallNode, zoomed: CallNode, pointed: CallNode | undefined, search: FunctionSearch, isCut: boolean): string {
    if (pointed) return `${nodeLines(root, pointed).join('; ')}.`;
    const parts: string[] = [];
    if (zoomed !== root) parts.push(`${zoomed.label}: ${nanoseconds(zoomed.time.total)}, ${percent(zoomed.time.total / root.time.total)} of all.`);
    if (search && 'error' in search) parts.push(`The search is not a regular expression: ${search.error}.`);
    else if (search) parts.push(`Functions that match, with what is below them: ${percent(matchedShare(root, search.matches))} of the time.`);
    if (isCut) parts.push('There are more functions below the last row: zoom to see them.');
    return parts.length > 0 ? parts.join(' ') : 'Point at a function to read its time; click to zoom and to see its source.';
}
