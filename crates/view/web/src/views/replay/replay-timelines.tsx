// Timelines of the recorded and the replayed run on a common time axis.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { answerSource, type QueryParams } from '../../answers/answer-source';
import { cssColour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { fontScale } from '../../charts/font-scale';
import type { LegendEntry } from '../../charts/legend';
import { canvasRenderer, type Renderer, svgRenderer } from '../../charts/renderer';
import { svgElement } from '../../charts/svg';
import { useWidth } from '../../charts/use-width';
import { queryWithRetry } from '../../state/retry';
import { effectiveTheme } from '../../state/theme';
import { nanoseconds } from '../../units';
import { equalRuns } from '../timeline/equal-runs';
import { axisTicks, durationOf } from '../timeline/time-span';
import { activeColumns, cellDuration, decodeRaster, type Raster, type RasterHeader } from '../timeline/timeline-data';

/** Kinds of activity; each has a CSS variable of the same name. */
const KINDS: LegendEntry[] = ['computing', 'sending', 'receiving', 'completing', 'collective', 'one-sided', 'files', 'other'].map((kind) => ({
    label: kind,
    variable: `--${kind}`,
}));
const COLUMNS = 800;
const ROWS = 64;
const LABEL_WIDTH = 76;
const AXIS_HEIGHT = 22;
const TITLE_HEIGHT = 26;

interface Props {
    recording: number;
    ranks: number;
    /** Parameters besides the size of the raster. */
    query: QueryParams;
}

export function ReplayTimelines({ recording, ranks, query }: Props) {
    const whole = useRaster(recording, 'timeline', ranks, {});
    // MPI_Init may take most of a short run, so only the part to compare is shown.
    const near = useMemo(() => (whole.raster ? paddedQuery(activePart(whole.raster), whole.raster.span) : {}), [whole.raster]);
    const before = useRaster(recording, 'timeline', ranks, near);
    const after = useRaster(recording, 'replayed', ranks, query);
    const recorded = useMemo(() => before.raster && activePart(before.raster), [before.raster]);
    const [container, width] = useWidth<HTMLDivElement>();
    const canvas = useRef<HTMLCanvasElement>(null);
    const theme = effectiveTheme.value;
    const lanes: TimelineLane[] = [
        { title: 'recorded', raster: recorded },
        { title: 'replayed', raster: after.raster },
    ];
    const row = Math.max(3, Math.min(14, 180 / Math.max(1, recorded?.rows.length ?? 1)));
    const height = AXIS_HEIGHT + lanes.reduce((sum, { raster }) => sum + TITLE_HEIGHT + row * (raster?.rows.length ?? 1), 0);
    useLayoutEffect(() => {
        const element = canvas.current;
        const context = element?.getContext('2d');
        if (!element || !context || width <= 0) return;
        element.width = width * devicePixelRatio;
        element.height = height * devicePixelRatio;
        context.scale(devicePixelRatio, devicePixelRatio);
        drawLanes(canvasRenderer(context), width, height, row, lanes);
    }, [width, height, theme, recorded, after.raster]);
    const svg = () => {
        const drawn = svgElement('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
        drawLanes(svgRenderer(drawn), width, height, row, lanes);
        return drawn;
    };
    const status = before.status || after.status;
    return (
        <Figure title="Timelines, recorded and replayed" legend={KINDS} svg={svg} table={() => lanesTable(lanes)}>
            {status && (
                <p class="query-status" role="status">
                    {status}
                </p>
            )}
            <div ref={container}>
                <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} role="img" aria-label={describeLanes(lanes)} />
            </div>
        </Figure>
    );
}

/** The parts of a raster that are drawn. */
type Cells = Pick<Raster, 'span' | 'columns' | 'rows' | 'kinds' | 'kind'>;

interface TimelineLane {
    title: string;
    raster: Cells | undefined;
}

interface RasterQuery {
    raster: Raster | undefined;
    /** The current activity, or why there is no raster. */
    status: string;
}

/** Queries a raster; the previous one is kept until the next arrives. */
function useRaster(recording: number, subject: 'timeline' | 'replayed', ranks: number, query: QueryParams): RasterQuery {
    const [result, setResult] = useState<RasterQuery>({ raster: undefined, status: '' });
    useEffect(() => {
        const params = { ...query, columns: COLUMNS, rows: ROWS };
        return queryWithRetry((signal) => answerSource.binary<RasterHeader>(recording, subject, params, signal), {
            answered: (answer) => setResult({ raster: decodeRaster(answer, ranks), status: '' }),
            pending: (doing) => setResult((now) => ({ ...now, status: doing })),
            failed: (reason) => setResult({ raster: undefined, status: reason }),
        });
    }, [recording, JSON.stringify(query)]);
    return result;
}

/** A span extended by one cell on each side, because edge cells may partly belong to it. */
function paddedQuery(cells: Cells, { from, to }: Cells['span']): QueryParams {
    const [first, last] = [cells.span.from - cellDuration(cells), cells.span.to + cellDuration(cells)];
    return { from: Math.max(from, Math.floor(first)), to: Math.min(to, Math.ceil(last)) };
}

/** The part of a raster after the first MPI_Init and before the last MPI_Finalize, which is what a replay covers. */
function activePart(whole: Raster): Cells {
    const found = activeColumns(whole);
    const { first, end } = found.end > found.first ? found : { first: 0, end: whole.columns };
    const at = (column: number) => whole.span.from + column * cellDuration(whole);
    const kind = new Uint8Array(whole.rows.length * (end - first));
    for (let row = 0; row < whole.rows.length; row++) {
        kind.set(whole.kind.subarray(row * whole.columns + first, row * whole.columns + end), row * (end - first));
    }
    return { span: { from: at(first), to: at(end) }, columns: end - first, rows: whole.rows, kinds: whole.kinds, kind };
}

const longestDuration = (lanes: TimelineLane[]): number => Math.max(1, ...lanes.map(({ raster }) => (raster ? durationOf(raster.span) : 0)));

/** Draws the lanes, each from its own start, scaled to the longest. */
function drawLanes(renderer: Renderer, width: number, height: number, row: number, lanes: TimelineLane[]): void {
    const end = longestDuration(lanes);
    const scale = fontScale();
    const left = LABEL_WIDTH * scale;
    const plotWidth = width - left;
    const [text, quiet, line] = [cssColour('--text'), cssColour('--muted'), cssColour('--line')];
    let top = 0;
    for (const { title, raster } of lanes) {
        renderer.text(0, top + TITLE_HEIGHT / 2, title, { colour: text, bold: true });
        top += TITLE_HEIGHT;
        if (!raster) continue;
        raster.rows.forEach(({ label }, number) => {
            const y = top + number * row;
            if (number % Math.ceil((13 * scale) / row) === 0) renderer.text(left - 6, y + row / 2, label, { colour: quiet, anchor: 'end' });
            const x = (column: number) => left + (plotWidth * cellDuration(raster) * column) / end;
            for (const { from, to, kind } of kindRuns(raster, number)) {
                if (kind !== 'absent') renderer.box(x(from), y, Math.max(0.4, x(to) - x(from)), row > 4 ? row - 1 : row, cssColour(`--${kind}`));
            }
        });
        const last = left + (plotWidth * durationOf(raster.span)) / end;
        renderer.box(last - 1, top - 3, 1.5, row * raster.rows.length + 6, text);
        renderer.text(last - 4, top - 10, nanoseconds(durationOf(raster.span)), { colour: text, anchor: 'end' });
        top += row * raster.rows.length;
    }
    for (const { time, label } of axisTicks({ from: 0, to: end }, Math.max(2, Math.floor(plotWidth / 110)))) {
        const x = left + (plotWidth * time) / end;
        renderer.box(Math.min(width - 1, x), height - AXIS_HEIGHT, 1, 5, line);
        const anchor = x > width - 30 ? 'end' : time === 0 ? 'start' : 'middle';
        renderer.text(Math.min(x, width), height - AXIS_HEIGHT + 13, label, { colour: quiet, anchor });
    }
}

/** Adjacent cells of a row with the same kind, by column. */
interface KindRun {
    from: number;
    to: number;
    kind: string;
}

function kindRuns({ kind, kinds, columns }: Cells, row: number): KindRun[] {
    const of = (column: number) => kind[row * columns + column] ?? 0;
    return equalRuns(0, columns, (one, next) => of(one) === of(next)).map(([from, to]) => ({ from, to, kind: kinds[of(from)] ?? 'other' }));
}

/** Share of the cells per kind. */
function kindShares({ kind, kinds }: Cells): [kind: string, share: number][] {
    const counts = kinds.map(() => 0);
    for (const cell of kind) counts[cell] = (counts[cell] ?? 0) + 1;
    return kinds.map((name, index) => [name, (counts[index] ?? 0) / Math.max(1, kind.length)]);
}

function describeLanes(lanes: TimelineLane[]): string {
    const text = lanes.map(({ title, raster }) => {
        const parts = raster ? kindShares(raster).filter(([, share]) => share >= 0.01) : [];
        return `${title}: ${parts.map(([kind, share]) => `${kind} ${Math.round(100 * share)} %`).join(', ')}`;
    });
    return `Activities of ranks, ${text.join('; ')}`;
}

function lanesTable(lanes: TimelineLane[]) {
    const rows = lanes.flatMap(({ title, raster }) => {
        if (!raster) return [];
        const column = cellDuration(raster);
        return raster.rows.flatMap(({ label }, number) => {
            const row = ({ from, to, kind }: KindRun) => [title, label, Math.round(from * column), Math.round(to * column), kind];
            return kindRuns(raster, number).map(row);
        });
    });
    return { columns: ['run', 'rank', 'from (ns)', 'to (ns)', 'kind'], rows };
}
