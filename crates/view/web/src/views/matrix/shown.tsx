// The matrix with its controls, what is pointed at, and the heaviest pairs.

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import type { Communication } from '../../answers/communication';
import { Choice } from '../../charts/choice';
import { colour } from '../../charts/colours';
import { Figure } from '../../charts/figure';
import { type Column, Rows } from '../../charts/rows';
import { Said } from '../../charts/said';
import { Go } from '../../links/go';
import { parse, write } from '../../ranks';
import { select, selection, setOwn } from '../../state/address';
import { useResting } from '../../state/resting';
import { look } from '../../state/theme';
import { percent, plural } from '../../units';
import { Canvas, type Cell, tallest } from './canvas';
import { layoutOf } from './drawing';
import { Key } from './key';
import { amount, type Matrix, matrixOf, type Pair, UNITS } from './matrix';
import { pictureOf } from './picture';
import { rampOf, type Scale } from './ramp';
import { kept, readWindow, whole, type Window, written } from './window';

interface Props {
    answer: Communication;
    recorded: Recorded;
    by: string;
}

const SCALES: Scale[] = ['log', 'linear'];
const HEAVIEST = 12;
const SAVED_WIDTH = 900;
/** How long a window rests before the address has it: browsers let a page write there only so often. */
const REST_MS = 250;

export function Shown({ answer, recorded, by }: Props) {
    const { own, ranks } = selection.value;
    const matrix = useMemo(() => matrixOf(answer, UNITS.find((one) => one === own.unit) ?? 'bytes'), [answer, own.unit]);
    const scale: Scale = own.scale === 'linear' ? 'linear' : 'log';
    const shade = look.value;
    const ramp = useMemo(() => rampOf(matrix.least, matrix.most, scale, shade), [matrix, scale, shade]);
    const [window, setWindow] = useState<Window>(readWindow(own.window, matrix.size));
    const rested = useResting(window, REST_MS);
    useEffect(() => setOwn('window', rested.span < matrix.size ? written(rested) : ''), [rested]);
    const [cursor, setCursor] = useState<Cell>();
    const selected = useMemo(() => selectedLabels(answer, ranks, recorded.ranks), [answer, ranks, recorded]);
    const colours = {
        ground: colour('--ground'),
        raised: colour('--raised'),
        line: colour('--line'),
        text: colour('--text'),
        quiet: colour('--quiet'),
        accent: colour('--accent'),
    };
    if (matrix.pairs.length === 0) return <p>No rank sent anything to another.</p>;
    const picture = () => pictureOf({ matrix, ramp, window, layout: layoutOf(SAVED_WIDTH, tallest(), answer.labels), colours }, selected);
    const noTime = answer.seconds ? {} : { seconds: 'The time of each pair is not known' };
    return (
        <Figure
            title={`Communication by ${by}`}
            table={() => tableOf(matrix)}
            svg={picture}
            controls={
                <>
                    <Choice
                        label="Unit"
                        values={UNITS}
                        value={matrix.unit}
                        refused={noTime}
                        choose={(unit) => setOwn('unit', unit === 'bytes' ? '' : unit)}
                    />
                    <Choice label="Colours" values={SCALES} value={scale} choose={(next) => setOwn('scale', next === 'log' ? '' : next)} />
                    <button type="button" disabled={window.span >= matrix.size} onClick={() => setWindow(whole(matrix.size))}>
                        Whole matrix
                    </button>
                </>
            }
        >
            <div class="matrix">
                <Canvas
                    matrix={matrix}
                    ramp={ramp}
                    colours={colours}
                    selected={selected}
                    window={window}
                    move={(next) => setWindow(kept(next, matrix.size))}
                    cursor={cursor}
                    point={setCursor}
                    choose={({ from, to }) => select({ ranks: pairRanks(answer, from, to, recorded.ranks) })}
                />
                <div>
                    <Said class="read-out" text={readOut(matrix, cursor, by)} />
                    <Key ramp={ramp} unit={matrix.unit} />
                    <h3>Heaviest pairs</h3>
                    <Heaviest matrix={matrix} size={recorded.ranks} />
                    {answer.left_out?.map((sentence) => (
                        <p key={sentence} class="quiet">
                            Not counted: {sentence}
                        </p>
                    ))}
                </div>
            </div>
        </Figure>
    );
}

/** What is pointed at, or how much there is of everything. */
function readOut(matrix: Matrix, cursor: Cell | undefined, by: string): string {
    const { answer, unit, total, pairs } = matrix;
    const all = `${amount(unit, total)}${unit === 'messages' ? ' messages' : ''} between ${plural(pairs.length, 'pair')}.`;
    if (!cursor) return `${all} Point at a cell to read it; click to select its ranks.`;
    const name = (at: number) => `${by} ${answer.labels[at] ?? ''}`;
    const pair = matrix.at(cursor.from, cursor.to);
    return `${name(cursor.from)} → ${name(cursor.to)}: ${pair ? described(answer, pair.entry) : 'nothing'}`;
}

function described(answer: Communication, entry: number): string {
    const time = answer.seconds?.[entry];
    const sent = `${amount('bytes', answer.bytes[entry] ?? 0)} in ${plural(answer.messages[entry] ?? 0, 'message')}`;
    return time === undefined ? sent : `${sent}, ${amount('seconds', time)} in their calls`;
}

function Heaviest({ matrix, size }: { matrix: Matrix; size: number }) {
    const { answer, unit, most, total } = matrix;
    const heaviest = useMemo(() => [...matrix.pairs].sort((one, other) => other.value - one.value).slice(0, HEAVIEST), [matrix]);
    const columns: Column<Pair>[] = [
        {
            name: 'from → to',
            value: ({ from, to }) => `${answer.labels[from]} → ${answer.labels[to]}`,
            show: ({ from, to }) => (
                <Go change={{ ranks: pairRanks(answer, from, to, size) }} title="Select these ranks">
                    {answer.labels[from]} → {answer.labels[to]}
                </Go>
            ),
        },
        {
            name: unit,
            value: ({ value }) => value,
            show: ({ value }) => amount(unit, value),
            bar: ({ value }) => value / most,
            variable: '--sending',
        },
        { name: 'of all', value: ({ value }) => value / total, show: ({ value }) => percent(value / total) },
    ];
    return <Rows label="Heaviest pairs" columns={columns} rows={heaviest} name={({ from, to }) => `${from} ${to}`} />;
}

/** The ranks of both ends of a pair. */
function pairRanks({ ranks }: Communication, from: number, to: number, size: number): string {
    return write(parse(`${ranks[from] ?? ''},${ranks[to] ?? ''}`, size));
}

/** The labels of which any rank is selected. */
function selectedLabels({ ranks }: Communication, selected: string | undefined, size: number): Set<number> {
    if (selected === undefined) return new Set();
    const wanted = new Set(parse(selected, size));
    const labels = ranks.map((text, label) => ({ label, ranks: parse(text, size) }));
    return new Set(labels.filter(({ ranks }) => ranks.some((rank) => wanted.has(rank))).map(({ label }) => label));
}

function tableOf({ answer, pairs }: Matrix) {
    return {
        columns: ['from', 'to', 'bytes', 'messages', 'seconds'],
        rows: pairs.map(({ from, to, entry }) => {
            const figures = [answer.bytes[entry], answer.messages[entry], answer.seconds?.[entry]];
            return [answer.labels[from], answer.labels[to], ...figures];
        }),
    };
}
