// What operations take over the size of messages: lines with bands, what was measured as dots, on scales of factors.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { Timing } from '../../answers/machine';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import { type Column, Rows } from '../../charts/rows';
import { dashes, type Style, styleOf } from '../../charts/series';
import { selection, setOwn } from '../../state/address';
import { binary, brief, bytes, count, figures, seconds } from '../../units';
import { EMPTY, ends, type Place, places } from './curves';

export interface Named {
    name: string;
    timing: Timing;
}

const MOST_BYTES = 4 << 20;
const ENDS = ['low', 'middle', 'high'];

interface Props {
    /** What tells it from others in the address. */
    name: string;
    title: string;
    says?: string;
    all: Named[];
    /** Operations that are shown until others are chosen. */
    usual: string[];
    /** A size at which something happens that all of them feel. */
    mark?: number | null;
}

interface Line extends Named, Style {
    isShown: boolean;
}

export function Timings({ name, title, says, all: given, usual, mark }: Props) {
    // Those that are mostly looked at have the colours that are told apart best.
    const all = useMemo(() => [...given.filter((one) => usual.includes(one.name)), ...given.filter((one) => !usual.includes(one.name))], [given]);
    const key = `show-${name}`;
    const told = selection.value.own[key];
    const wanted = told?.split(',') ?? usual;
    const found = all.some((one) => wanted.includes(one.name)) ? wanted : told === undefined ? all.slice(0, usual.length).map((one) => one.name) : [];
    const lines: Line[] = all.map((one, at) => ({
        ...one,
        ...styleOf(at),
        isShown: found.includes(one.name),
    }));
    const toggle = (line: Line) => {
        const next = lines.filter((one) => one.isShown !== (one === line)).map((one) => one.name);
        setOwn(key, next.join(',') || 'none');
    };
    const most = Math.max(MOST_BYTES, ...all.map(({ timing }) => timing.measured?.bytes[1] ?? 0));
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = lines
                .filter(({ isShown }) => isShown)
                .map(({ name, timing, variable, again }) => ({
                    ...{ name, strokeDasharray: dashes({ variable, again }), medians: timing.medians },
                    ...{ places: places(timing, most), colour: colour(variable) },
                }));
            const middles = shown.flatMap(({ places }) => places.map(({ middle }) => middle).filter(Number.isFinite));
            const [least, longest] = middles.length > 0 ? [Math.min(...middles) / 3, Math.max(...middles) * 3] : [1e-6, 1];
            return {
                height: 320,
                marginLeft: 62,
                x: {
                    type: 'log',
                    base: 2,
                    label: 'bytes',
                    domain: [EMPTY, most],
                    ticks: 12,
                    tickFormat: (size: number) => (size <= EMPTY ? '0' : binary(size)),
                },
                y: {
                    type: 'log',
                    label: null,
                    grid: true,
                    ticks: decades(least, longest),
                    domain: [least, longest],
                    tickFormat: (value: number) => brief(seconds(value)),
                },
                marks: [
                    ...(mark ? [Plot.ruleX([mark], { stroke: colour('--quiet'), strokeDasharray: '3 3' })] : []),
                    ...shown.map(({ places, colour: fill }) =>
                        Plot.areaY(places, { x: 'bytes', y1: 'low', y2: 'high', fill, fillOpacity: 0.17, clip: true }),
                    ),
                    ...shown.map(({ name, medians, colour: stroke }) =>
                        Plot.dot(medians, {
                            x: ([size]) => Math.max(size, EMPTY),
                            y: ([, time]) => time,
                            stroke,
                            r: 2.2,
                            clip: true,
                            title: ([size, time]) => `${name}: measured ${seconds(time)} at ${bytes(size)}`,
                        }),
                    ),
                    ...shown.flatMap(({ name, places, colour: stroke, strokeDasharray }) => [
                        Plot.line(places, { x: 'bytes', y: 'middle', stroke, strokeWidth: 2, strokeDasharray }),
                        Plot.dot(
                            places.filter((place, at) => Number.isFinite(place.bytes) && !Number.isFinite(places[at + 1]?.bytes ?? NaN)),
                            {
                                x: 'bytes',
                                y: 'middle',
                                fill: stroke,
                                r: 3,
                                title: (place: Place) => `${name}: ${seconds(place.middle)} at ${bytes(place.bytes)}`,
                            },
                        ),
                    ]),
                ],
            };
        },
        [all, most, mark, found.join()],
    );
    if (all.length === 0) return null;
    return (
        <Figure
            title={title}
            says={says}
            legend={lines
                .filter(({ isShown }) => isShown)
                .map(({ name, variable, again }) => ({ label: name, variable, again, mark: 'line' as const }))}
            table={() => ({
                columns: [
                    ...['operation', 'from (bytes)', 'up to (bytes)'],
                    ...ENDS.map((end) => `intercept ${end} (s)`),
                    ...ENDS.map((end) => `slope ${end} (s/byte)`),
                    'measured (s)',
                ],
                rows: all.flatMap(({ name, timing }) => [
                    ...timing.pieces.map(({ up_to_bytes: to, intercept_s: intercept, slope_s_per_byte: slope }, at) => [
                        name,
                        at === 0 ? timing.from_bytes : (timing.pieces[at - 1]?.up_to_bytes?.[1] ?? null),
                        to?.[1] ?? null,
                        ...intercept,
                        ...slope,
                        null,
                    ]),
                    ...timing.medians.map(([size, time]) => [name, size, size, ...ENDS.map(() => null), ...ENDS.map(() => null), time]),
                ]),
            })}
        >
            <p class="machine-operations" role="group" aria-label={`Operations shown in “${title}”`}>
                {lines.map((line) => (
                    <button key={line.name} type="button" aria-pressed={line.isShown} onClick={() => toggle(line)}>
                        {line.name}
                    </button>
                ))}
            </p>
            <Chart label={`${title}: time over bytes, with bands, for ${found.join(', ')}`} draw={draw} />
            <details>
                <summary>Pieces and how well they fit</summary>
                <Rows label={title} columns={COLUMNS} rows={all} name={({ name }) => name} />
            </details>
        </Figure>
    );
}

/** Powers of ten between two times. */
function decades(least: number, most: number): number[] {
    const [first, last] = [Math.ceil(Math.log10(least)), Math.floor(Math.log10(most))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => Number(`1e${first + at}`));
}

const small = ({ pieces }: Timing): number | undefined => pieces[0]?.intercept_s[1];

const rate = ({ pieces }: Timing): number | undefined => {
    const slope = pieces.at(-1)?.slope_s_per_byte[1];
    return slope ? 1 / slope : undefined;
};

const COLUMNS: Column<Named>[] = [
    { name: 'operation', value: ({ name }) => name },
    {
        name: 'small message (s)',
        says: 'The intercept of the first piece',
        value: ({ timing }) => small(timing),
        show: ({ timing }) => seconds(small(timing) ?? 0),
    },
    {
        name: 'large messages (bytes/s)',
        says: 'One over the slope of the last piece',
        value: ({ timing }) => rate(timing),
        show: ({ timing }) => (rate(timing) === undefined ? '–' : `${bytes(rate(timing) ?? 0)}/s`),
    },
    { name: 'changes at', value: ({ timing }) => ends(timing).map(bytes).join(', ') || '–' },
    {
        name: 'samples',
        value: ({ timing }) => timing.measured?.samples,
        show: ({ timing }) => (timing.measured ? count(timing.measured.samples) : '–'),
    },
    {
        name: 'missed by (%)',
        says: 'The mean difference between the lines and what was measured',
        value: ({ timing }) => timing.measured?.mean_error_percent,
        show: ({ timing }) => (timing.measured ? `${figures(timing.measured.mean_error_percent)} %` : '–'),
    },
    { name: 'formula', value: ({ timing }) => timing.formula, show: ({ timing }) => <code>{timing.formula}</code> },
];
