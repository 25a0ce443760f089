// The matrix with its controls, the value under the pointer, and the heaviest pairs.

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import type { CommunicationMatrix } from '../../answers/communication';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { cssColour } from '../../charts/colours';
import { DataTable, type TableColumn } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { LiveText } from '../../charts/live-text';
import { ViewLink } from '../../links/view-link';
import { formatRanks, parseRanks } from '../../ranks';
import { select, selection, setViewParam } from '../../state/address';
import { useDebounced } from '../../state/debounce';
import { effectiveTheme } from '../../state/theme';
import { percent, plural } from '../../units';
import { ColourKey } from './colour-key';
import { colourRamp, type RampScale } from './colour-ramp';
import { matrixLayout } from './draw-matrix';
import { buildMatrix, formatAmount, type Matrix, UNITS, valuesOf } from './matrix';
import { type Cell, MatrixCanvas, maxMatrixHeight } from './matrix-canvas';
import { matrixSvg } from './matrix-svg';
import { clampWindow, formatWindow, type MatrixWindow, parseWindow, wholeMatrix } from './matrix-window';

interface Props {
    answer: CommunicationMatrix;
    recording: RecordingSummary;
    by: string;
}

const SCALES: RampScale[] = ['log', 'linear'];
const MAX_PAIRS = 12;
const SAVED_WIDTH = 900;
/** Debounce for the address; browsers limit the rate of history updates. */
const DEBOUNCE_MS = 250;

export function MatrixChart({ answer, recording, by }: Props) {
    const { viewParams, ranks } = selection.value;
    const matrix = useMemo(() => buildMatrix(answer, UNITS.find((one) => one === viewParams.unit) ?? 'bytes'), [answer, viewParams.unit]);
    const scale: RampScale = viewParams.scale === 'linear' ? 'linear' : 'log';
    const theme = effectiveTheme.value;
    const ramp = useMemo(() => colourRamp(matrix.min, matrix.max, scale, theme), [matrix, scale, theme]);
    const [window, setWindow] = useState<MatrixWindow>(parseWindow(viewParams.window, matrix.size));
    const debounced = useDebounced(window, DEBOUNCE_MS);
    useEffect(() => setViewParam('window', debounced.span < matrix.size ? formatWindow(debounced) : ''), [debounced]);
    const [cursor, setCursor] = useState<Cell>();
    const selected = useMemo(() => selectedLabels(answer, ranks, recording.ranks), [answer, ranks, recording]);
    const colours = {
        background: cssColour('--background'),
        surface: cssColour('--surface'),
        line: cssColour('--line'),
        text: cssColour('--text'),
        muted: cssColour('--muted'),
        accent: cssColour('--accent'),
    };
    if (matrix.pairs.length === 0) return <p>There was no communication between ranks.</p>;
    const exportSvg = () =>
        matrixSvg({ matrix, ramp, window, layout: matrixLayout(SAVED_WIDTH, maxMatrixHeight(), answer.labels), colours }, selected);
    const noTime = answer.seconds ? {} : { seconds: 'The time per pair is unknown' };
    return (
        <Figure
            title={`Communication by ${by}`}
            table={() => matrixTable(matrix)}
            svg={exportSvg}
            controls={
                <>
                    <ChoiceButtons
                        label="Unit"
                        values={UNITS}
                        value={matrix.unit}
                        disabledReasons={noTime}
                        choose={(unit) => setViewParam('unit', unit === 'bytes' ? '' : unit)}
                    />
                    <ChoiceButtons
                        label="Colours"
                        values={SCALES}
                        value={scale}
                        choose={(next) => setViewParam('scale', next === 'log' ? '' : next)}
                    />
                    <button type="button" disabled={window.span >= matrix.size} onClick={() => setWindow(wholeMatrix(matrix.size))}>
                        Whole matrix
                    </button>
                </>
            }
        >
            <div class="matrix">
                <MatrixCanvas
                    matrix={matrix}
                    ramp={ramp}
                    colours={colours}
                    selected={selected}
                    window={window}
                    move={(next) => setWindow(clampWindow(next, matrix.size))}
                    cursor={cursor}
                    point={setCursor}
                    choose={({ from, to }) => select({ ranks: pairRanks(answer, from, to, recording.ranks) })}
                />
                <div>
                    <LiveText class="read-out" text={cursorText(matrix, cursor, by)} />
                    <ColourKey ramp={ramp} unit={matrix.unit} />
                    <h3>Heaviest pairs</h3>
                    <HeaviestPairs matrix={matrix} size={recording.ranks} />
                    {answer.left_out?.map((sentence) => (
                        <p key={sentence} class="muted">
                            {sentence.charAt(0).toUpperCase() + sentence.slice(1)}.
                        </p>
                    ))}
                </div>
            </div>
        </Figure>
    );
}

/** The cell under the pointer, or the total. */
function cursorText(matrix: Matrix, cursor: Cell | undefined, by: string): string {
    const { answer, unit, total, pairs } = matrix;
    const all = `${formatAmount(unit, total)}${unit === 'messages' ? ' messages' : ''} between ${plural(pairs.length, 'pair')}.`;
    if (!cursor) return `${all} Point at a cell to read it; click to select its ranks.`;
    const name = (index: number) => `${by} ${answer.labels[index] ?? ''}`;
    const pair = matrix.pairAt(cursor.from, cursor.to);
    return `${name(cursor.from)} → ${name(cursor.to)}: ${pair ? describePair(answer, pair.entry) : 'nothing'}`;
}

function describePair(answer: CommunicationMatrix, entry: number): string {
    const time = answer.seconds?.[entry];
    const sent = `${formatAmount('bytes', answer.bytes[entry] ?? 0)} in ${plural(answer.messages[entry] ?? 0, 'message')}`;
    return time === undefined ? sent : `${sent}, ${formatAmount('seconds', time)} in the calls`;
}

/** A row of the list of pairs: labels, or ranks where a label is several of them. */
interface HeavyPair {
    name: string;
    ranks: string;
    value: number;
}

function heavyPairs({ answer, unit, pairs }: Matrix, size: number): HeavyPair[] {
    const { heaviest, labels } = answer;
    const listed = heaviest
        ? heaviest.from.map((from, entry) => {
              const to = heaviest.to[entry] ?? from;
              return {
                  name: `${from} → ${to}`,
                  ranks: formatRanks([from, to].sort((one, other) => one - other)),
                  value: valuesOf(heaviest, unit)[entry] ?? 0,
              };
          })
        : pairs.map(({ from, to, value }) => ({ name: `${labels[from]} → ${labels[to]}`, ranks: pairRanks(answer, from, to, size), value }));
    return listed.sort((one, other) => other.value - one.value).slice(0, MAX_PAIRS);
}

function HeaviestPairs({ matrix, size }: { matrix: Matrix; size: number }) {
    const { unit, total } = matrix;
    const heaviest = useMemo(() => heavyPairs(matrix, size), [matrix, size]);
    const max = Math.max(...heaviest.map(({ value }) => value), Number.MIN_VALUE);
    const columns: TableColumn<HeavyPair>[] = [
        {
            name: 'from → to',
            value: ({ name }) => name,
            render: ({ name, ranks }) => (
                <ViewLink change={{ ranks }} title="Select these ranks">
                    {name}
                </ViewLink>
            ),
        },
        {
            name: unit,
            value: ({ value }) => value,
            render: ({ value }) => formatAmount(unit, value),
            bar: ({ value }) => value / max,
            barColour: '--sending',
        },
        { name: 'share', value: ({ value }) => value / total, render: ({ value }) => percent(value / total) },
    ];
    return <DataTable label="Heaviest pairs" columns={columns} rows={heaviest} rowKey={({ name }) => name} />;
}

/** The ranks at both ends of a pair. */
function pairRanks({ ranks }: CommunicationMatrix, from: number, to: number, size: number): string {
    return formatRanks(parseRanks(`${ranks[from] ?? ''},${ranks[to] ?? ''}`, size));
}

/** Labels with a selected rank. */
function selectedLabels({ ranks }: CommunicationMatrix, selected: string | undefined, size: number): Set<number> {
    if (selected === undefined) return new Set();
    const wanted = new Set(parseRanks(selected, size));
    const labels = ranks.map((text, label) => ({ label, ranks: parseRanks(text, size) }));
    return new Set(labels.filter(({ ranks }) => ranks.some((rank) => wanted.has(rank))).map(({ label }) => label));
}

function matrixTable({ answer, pairs }: Matrix) {
    return {
        columns: ['from', 'to', 'bytes', 'messages', 'seconds'],
        rows: pairs.map(({ from, to, entry }) => {
            const figures = [answer.bytes[entry], answer.messages[entry], answer.seconds?.[entry]];
            return [answer.labels[from], answer.labels[to], ...figures];
        }),
    };
}
