// Timing models over message size: lines with bands, measured points as dots, on logarithmic axes.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { TimingModel } from '../../answers/machine';
import { Chart } from '../../charts/chart';
import { DataTable, type TableColumn } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import { dashPattern, type SeriesStyle, seriesStyle } from '../../charts/series-style';
import { selection, setViewParam } from '../../state/address';
import { binaryBytes, bytes, count, seconds, threeDigits, trimZeros } from '../../units';
import { breakpoints, type CurvePoint, curvePoints, EMPTY_MESSAGE_X } from './curves';

export interface NamedTiming {
    name: string;
    timing: TimingModel;
}

const DEFAULT_MAX_BYTES = 4 << 20;
const ENDS = ['low', 'middle', 'high'];

interface Props {
    /** Key in the address. */
    name: string;
    title: string;
    description?: string;
    all: NamedTiming[];
    /** Operations shown by default. */
    defaultOperations: string[];
    /** A size to mark, such as the eager limit. */
    mark?: number | null;
}

interface TimingLine extends NamedTiming, SeriesStyle {
    isShown: boolean;
}

export function TimingChart({ name, title, description, all: given, defaultOperations, mark }: Props) {
    // The default operations get the most distinguishable colours.
    const all = useMemo(
        () => [...given.filter((one) => defaultOperations.includes(one.name)), ...given.filter((one) => !defaultOperations.includes(one.name))],
        [given],
    );
    const key = `show-${name}`;
    const shownParam = selection.value.viewParams[key];
    const wanted = shownParam?.split(',') ?? defaultOperations;
    const found = all.some((one) => wanted.includes(one.name))
        ? wanted
        : shownParam === undefined
          ? all.slice(0, defaultOperations.length).map((one) => one.name)
          : [];
    const lines: TimingLine[] = all.map((one, index) => ({
        ...one,
        ...seriesStyle(index),
        isShown: found.includes(one.name),
    }));
    const toggle = (line: TimingLine) => {
        const next = lines.filter((one) => one.isShown !== (one === line)).map((one) => one.name);
        setViewParam(key, next.join(',') || 'none');
    };
    const max = Math.max(DEFAULT_MAX_BYTES, ...all.map(({ timing }) => timing.measured?.bytes[1] ?? 0));
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = lines
                .filter(({ isShown }) => isShown)
                .map(({ name, timing, variable, isRepeated }) => ({
                    ...{ name, strokeDasharray: dashPattern({ variable, isRepeated }), medians: timing.medians },
                    ...{ places: curvePoints(timing, max), colour: colour(variable) },
                }));
            const middles = shown.flatMap(({ places: points }) => points.map(({ middle }) => middle).filter(Number.isFinite));
            const [min, longest] = middles.length > 0 ? [Math.min(...middles) / 3, Math.max(...middles) * 3] : [1e-6, 1];
            return {
                height: 320,
                marginLeft: 62,
                x: {
                    type: 'log',
                    base: 2,
                    label: 'bytes',
                    domain: [EMPTY_MESSAGE_X, max],
                    ticks: 12,
                    tickFormat: (size: number) => (size <= EMPTY_MESSAGE_X ? '0' : binaryBytes(size)),
                },
                y: {
                    type: 'log',
                    label: null,
                    grid: true,
                    ticks: decades(min, longest),
                    domain: [min, longest],
                    tickFormat: (value: number) => trimZeros(seconds(value)),
                },
                marks: [
                    ...(mark ? [Plot.ruleX([mark], { stroke: colour('--muted'), strokeDasharray: '3 3' })] : []),
                    ...shown.map(({ places: points, colour: fill }) =>
                        Plot.areaY(points, { x: 'bytes', y1: 'low', y2: 'high', fill, fillOpacity: 0.17, clip: true }),
                    ),
                    ...shown.map(({ name, medians, colour: stroke }) =>
                        Plot.dot(medians, {
                            x: ([size]) => Math.max(size, EMPTY_MESSAGE_X),
                            y: ([, time]) => time,
                            stroke,
                            r: 2.2,
                            clip: true,
                            title: ([size, time]) => `${name}: measured ${seconds(time)} at ${bytes(size)}`,
                        }),
                    ),
                    ...shown.flatMap(({ name, places: points, colour: stroke, strokeDasharray }) => [
                        Plot.line(points, { x: 'bytes', y: 'middle', stroke, strokeWidth: 2, strokeDasharray }),
                        Plot.dot(
                            points.filter((point, index) => Number.isFinite(point.bytes) && !Number.isFinite(points[index + 1]?.bytes ?? NaN)),
                            {
                                x: 'bytes',
                                y: 'middle',
                                fill: stroke,
                                r: 3,
                                title: (point: CurvePoint) => `${name}: ${seconds(point.middle)} at ${bytes(point.bytes)}`,
                            },
                        ),
                    ]),
                ],
            };
        },
        [all, max, mark, found.join()],
    );
    if (all.length === 0) return null;
    return (
        <Figure
            title={title}
            description={description}
            legend={lines
                .filter(({ isShown }) => isShown)
                .map(({ name, variable, isRepeated }) => ({ label: name, variable, isRepeated, mark: 'line' as const }))}
            table={() => ({
                columns: [
                    ...['operation', 'from (bytes)', 'up to (bytes)'],
                    ...ENDS.map((end) => `intercept ${end} (s)`),
                    ...ENDS.map((end) => `slope ${end} (s/byte)`),
                    'measured (s)',
                ],
                rows: all.flatMap(({ name, timing }) => [
                    ...timing.pieces.map(({ up_to_bytes: to, intercept_s: intercept, slope_s_per_byte: slope }, index) => [
                        name,
                        index === 0 ? timing.from_bytes : (timing.pieces[index - 1]?.up_to_bytes?.[1] ?? null),
                        to?.[1] ?? null,
                        ...intercept,
                        ...slope,
                        null,
                    ]),
                    ...timing.medians.map(([size, time]) => [name, size, size, ...ENDS.map(() => null), ...ENDS.map(() => null), time]),
                ]),
            })}
        >
            {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need its default style removed */}
            <p class="machine-operations" role="group" aria-label={`Operations shown in “${title}”`}>
                {lines.map((line) => (
                    <button key={line.name} type="button" aria-pressed={line.isShown} onClick={() => toggle(line)}>
                        {line.name}
                    </button>
                ))}
            </p>
            <Chart label={`${title}: time over bytes, with bands, for ${found.join(', ')}`} draw={draw} />
            <details>
                <summary>Pieces and quality of fit</summary>
                <DataTable label={title} columns={COLUMNS} rows={all} rowKey={({ name }) => name} />
            </details>
        </Figure>
    );
}

/** Powers of ten in a range. */
function decades(min: number, max: number): number[] {
    const [first, last] = [Math.ceil(Math.log10(min)), Math.floor(Math.log10(max))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => Number(`1e${first + index}`));
}

const smallMessageSeconds = ({ pieces }: TimingModel): number | undefined => pieces[0]?.intercept_s[1];

const asymptoticBandwidth = ({ pieces }: TimingModel): number | undefined => {
    const slope = pieces.at(-1)?.slope_s_per_byte[1];
    return slope ? 1 / slope : undefined;
};

const COLUMNS: TableColumn<NamedTiming>[] = [
    { name: 'operation', value: ({ name }) => name },
    {
        name: 'small messages (s)',
        description: 'Intercept of the first piece',
        value: ({ timing }) => smallMessageSeconds(timing),
        render: ({ timing }) => seconds(smallMessageSeconds(timing) ?? 0),
    },
    {
        name: 'large messages (bytes/s)',
        description: 'Reciprocal slope of the last piece',
        value: ({ timing }) => asymptoticBandwidth(timing),
        render: ({ timing }) => (asymptoticBandwidth(timing) === undefined ? '–' : `${bytes(asymptoticBandwidth(timing) ?? 0)}/s`),
    },
    { name: 'breakpoints', value: ({ timing }) => breakpoints(timing).map(bytes).join(', ') || '–' },
    {
        name: 'samples',
        value: ({ timing }) => timing.measured?.samples,
        render: ({ timing }) => (timing.measured ? count(timing.measured.samples) : '–'),
    },
    {
        name: 'mean error (%)',
        description: 'Mean deviation of the model from the measurements',
        value: ({ timing }) => timing.measured?.mean_error_percent,
        render: ({ timing }) => (timing.measured ? `${threeDigits(timing.measured.mean_error_percent)} %` : '–'),
    },
    { name: 'formula', value: ({ timing }) => timing.formula, render: ({ timing }) => <code>{timing.formula}</code> },
];
