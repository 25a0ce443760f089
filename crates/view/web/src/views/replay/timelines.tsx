// The run as it was recorded and as it was replayed, one above the other, on one scale of time.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Query, source } from '../../answers/source';
import { colour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { growth } from '../../charts/growth';
import type { Entry } from '../../charts/legend';
import { canvasPen, type Pen, svgPen } from '../../charts/pen';
import { element } from '../../charts/svg';
import { useWidth } from '../../charts/width';
import { askPatiently } from '../../state/patience';
import { look } from '../../state/theme';
import { nanoseconds } from '../../units';
import { cellOf, columnsAtWork, type Header, type Picture, picture } from '../timeline/answers';
import { lengthOf, marks } from '../timeline/span';
import { stretches } from '../timeline/stretches';

/** Kinds of activity: each has a colour of its name. */
const KINDS: Entry[] = ['computing', 'sending', 'receiving', 'completing', 'collective', 'one-sided', 'files', 'other'].map((kind) => ({
    label: kind,
    variable: `--${kind}`,
}));
const COLUMNS = 800;
const ROWS = 64;
const LEFT = 76;
const AXIS = 22;
const GAP = 26;

interface Props {
    recording: number;
    ranks: number;
    /** What is asked beside the size of the picture. */
    query: Query;
}

export function Timelines({ recording, ranks, query }: Props) {
    const whole = usePicture(recording, 'timeline', ranks, {});
    // MPI_Init may take most of a short run: what is compared is looked at closely.
    const near = useMemo(() => (whole.picture ? around(working(whole.picture), whole.picture.span) : {}), [whole.picture]);
    const before = usePicture(recording, 'timeline', ranks, near);
    const after = usePicture(recording, 'replayed', ranks, query);
    const recorded = useMemo(() => before.picture && working(before.picture), [before.picture]);
    const [place, width] = useWidth<HTMLDivElement>();
    const canvas = useRef<HTMLCanvasElement>(null);
    const shade = look.value;
    const lanes: Lane[] = [
        { title: 'recorded', picture: recorded },
        { title: 'replayed', picture: after.picture },
    ];
    const row = Math.max(3, Math.min(14, 180 / Math.max(1, recorded?.rows.length ?? 1)));
    const height = AXIS + lanes.reduce((sum, { picture }) => sum + GAP + row * (picture?.rows.length ?? 1), 0);
    useLayoutEffect(() => {
        const element = canvas.current;
        const context = element?.getContext('2d');
        if (!element || !context || width <= 0) return;
        element.width = width * devicePixelRatio;
        element.height = height * devicePixelRatio;
        context.scale(devicePixelRatio, devicePixelRatio);
        draw(canvasPen(context), width, height, row, lanes);
    }, [width, height, shade, recorded, after.picture]);
    const svg = () => {
        const drawn = element('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
        draw(svgPen(drawn), width, height, row, lanes);
        return drawn;
    };
    const says = before.says || after.says;
    return (
        <Figure title="Timelines, recorded and replayed" legend={KINDS} svg={svg} table={() => table(lanes)}>
            {says && (
                <p class="state" role="status">
                    {says}
                </p>
            )}
            <div ref={place}>
                <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} role="img" aria-label={inWords(lanes)} />
            </div>
        </Figure>
    );
}

/** What is drawn of a picture. */
type Cells = Pick<Picture, 'span' | 'columns' | 'rows' | 'kinds' | 'kind'>;

interface Lane {
    title: string;
    picture: Cells | undefined;
}

interface Asked {
    picture: Picture | undefined;
    /** What is being done, or why there is no picture. */
    says: string;
}

/** The picture of a run; the one before stays until the next is there. */
function usePicture(recording: number, subject: 'timeline' | 'replayed', ranks: number, query: Query): Asked {
    const [got, setGot] = useState<Asked>({ picture: undefined, says: '' });
    useEffect(() => {
        const asked = { ...query, columns: COLUMNS, rows: ROWS };
        return askPatiently((stop) => source.binary<Header>(recording, subject, asked, stop), {
            answered: (answer) => setGot({ picture: picture(answer, ranks), says: '' }),
            working: (doing) => setGot((now) => ({ ...now, says: doing })),
            refused: (why) => setGot({ picture: undefined, says: why }),
        });
    }, [recording, JSON.stringify(query)]);
    return got;
}

/** A span with the cells beside it, of which a little may belong to it. */
function around(cells: Cells, { from, to }: Cells['span']): Query {
    const [first, last] = [cells.span.from - cellOf(cells), cells.span.to + cellOf(cells)];
    return { from: Math.max(from, Math.floor(first)), to: Math.min(to, Math.ceil(last)) };
}

/** The part of a picture in which any rank is past MPI_Init and before MPI_Finalize: a replay begins and ends there. */
function working(whole: Picture): Cells {
    const found = columnsAtWork(whole);
    const { first, end } = found.end > found.first ? found : { first: 0, end: whole.columns };
    const at = (column: number) => whole.span.from + column * cellOf(whole);
    const kind = new Uint8Array(whole.rows.length * (end - first));
    whole.rows.forEach((_, row) => kind.set(whole.kind.subarray(row * whole.columns + first, row * whole.columns + end), row * (end - first)));
    return { span: { from: at(first), to: at(end) }, columns: end - first, rows: whole.rows, kinds: whole.kinds, kind };
}

const endOf = (lanes: Lane[]): number => Math.max(1, ...lanes.map(({ picture }) => (picture ? lengthOf(picture.span) : 0)));

/** Draws the lanes, each from its own beginning, as long as the longer one. */
function draw(pen: Pen, width: number, height: number, row: number, lanes: Lane[]): void {
    const end = endOf(lanes);
    const larger = growth();
    const left = LEFT * larger;
    const wide = width - left;
    const [text, quiet, line] = [colour('--text'), colour('--quiet'), colour('--line')];
    let top = 0;
    for (const { title, picture } of lanes) {
        pen.text(0, top + GAP / 2, title, { colour: text, bold: true });
        top += GAP;
        if (!picture) continue;
        picture.rows.forEach(({ label }, number) => {
            const y = top + number * row;
            if (number % Math.ceil((13 * larger) / row) === 0) pen.text(left - 6, y + row / 2, label, { colour: quiet, anchor: 'end' });
            const x = (column: number) => left + (wide * cellOf(picture) * column) / end;
            for (const { from, to, kind } of runs(picture, number)) {
                if (kind !== 'absent') pen.box(x(from), y, Math.max(0.4, x(to) - x(from)), row > 4 ? row - 1 : row, colour(`--${kind}`));
            }
        });
        const last = left + (wide * lengthOf(picture.span)) / end;
        pen.box(last - 1, top - 3, 1.5, row * picture.rows.length + 6, text);
        pen.text(last - 4, top - 10, nanoseconds(lengthOf(picture.span)), { colour: text, anchor: 'end' });
        top += row * picture.rows.length;
    }
    for (const { at, label } of marks({ from: 0, to: end }, Math.max(2, Math.floor(wide / 110)))) {
        const x = left + (wide * at) / end;
        pen.box(Math.min(width - 1, x), height - AXIS, 1, 5, line);
        const anchor = x > width - 30 ? 'end' : at === 0 ? 'start' : 'middle';
        pen.text(Math.min(x, width), height - AXIS + 13, label, { colour: quiet, anchor });
    }
}

/** Neighbouring cells of a row with the same kind, by column. */
interface Run {
    from: number;
    to: number;
    kind: string;
}

function runs({ kind, kinds, columns }: Cells, row: number): Run[] {
    const of = (column: number) => kind[row * columns + column] ?? 0;
    return stretches(0, columns, (one, next) => of(one) === of(next)).map(([from, to]) => ({ from, to, kind: kinds[of(from)] ?? 'other' }));
}

/** What share of the cells each kind has. */
function shares({ kind, kinds }: Cells): [kind: string, share: number][] {
    const counts = kinds.map(() => 0);
    for (const cell of kind) counts[cell] = (counts[cell] ?? 0) + 1;
    return kinds.map((name, at) => [name, (counts[at] ?? 0) / Math.max(1, kind.length)]);
}

function inWords(lanes: Lane[]): string {
    const said = lanes.map(({ title, picture }) => {
        const parts = picture ? shares(picture).filter(([, share]) => share >= 0.01) : [];
        return `${title}: ${parts.map(([kind, share]) => `${kind} ${Math.round(100 * share)} %`).join(', ')}`;
    });
    return `What ranks did, ${said.join('; ')}`;
}

function table(lanes: Lane[]) {
    const rows = lanes.flatMap(({ title, picture }) => {
        if (!picture) return [];
        const column = cellOf(picture);
        return picture.rows.flatMap(({ label }, number) => {
            const row = ({ from, to, kind }: Run) => [title, label, Math.round(from * column), Math.round(to * column), kind];
            return runs(picture, number).map(row);
        });
    });
    return { columns: ['run', 'rank', 'from (ns)', 'to (ns)', 'kind'], rows };
}
