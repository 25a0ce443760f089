// Scaling view: the time model over its parameters, with bands, measurements, predictions and recommended numbers of processes.

import type { About } from '../../answers/about';
import { answerSource, type QueryParams } from '../../answers/answer-source';
import type { Prediction, ScalingCurve, ScalingModel } from '../../answers/scaling';
import { ChoiceButtons } from '../../charts/choice-buttons';
import type { TableColumn } from '../../charts/data-table';
import { QueryStatus } from '../../charts/query-status';
import { TableFigure } from '../../charts/table-figure';
import { select, selection, setViewParam } from '../../state/address';
import { useQuery } from '../../state/use-query';
import { count, percent, threeDigits } from '../../units';
import type { PageView } from '../view';
import { PartShares } from './part-shares';
import { type AxisScales, TimeCurve } from './time-curve';
import './scaling.css';
import { formatValue } from './format';

export const scaling: PageView = {
    name: 'scaling',
    title: 'Scaling',
    key: 'g',
    description: 'Time model: measurements and predictions for larger runs.',
    isAvailable: ({ subjects }) => subjects.includes('scaling'),
    Component: Show,
};

const RANGE_FACTORS = ['1', '2', '4', '8', '16', '64', '256'];

function Show(_: { about: About }) {
    const { viewParams } = selection.value;
    const query: QueryParams = { times: viewParams.times, efficiency: viewParams.efficiency };
    for (const [name, text] of Object.entries(viewParams)) if (name.startsWith('at.')) query[name] = text;
    const model = useQuery<ScalingModel>(0, 'scaling', answerSource.isLive ? query : {});
    return (
        <>
            {model.state === 'failed' && Object.keys(viewParams).length > 0 && (
                <button type="button" onClick={() => select({ viewParams: {} }, true)}>
                    Default values
                </button>
            )}
            <QueryStatus query={model} keepsPrevious>
                {(answer) => <ScalingSections scaling={answer} own={viewParams} />}
            </QueryStatus>
        </>
    );
}

function ScalingSections({ scaling, own: viewParams }: { scaling: ScalingModel; own: Record<string, string> }) {
    const curve = scaling.lines.find(({ parameter }) => parameter === viewParams.over) ?? scaling.lines[scaling.first];
    if (!curve) return <p class="description">The time is constant: {scaling.formula}</p>;
    const scales: AxisScales = { x: viewParams.x === 'linear' ? 'linear' : 'log', y: viewParams.y === 'linear' ? 'linear' : 'log' };
    return (
        <>
            <ModelFacts scaling={scaling} />
            <div class="scaling-controls">
                {scaling.lines.length > 1 && (
                    <ChoiceButtons
                        label="Over"
                        values={scaling.lines.map(({ parameter }) => parameter)}
                        value={curve.parameter}
                        choose={(name) => setViewParam('over', name)}
                    />
                )}
                <ChoiceButtons
                    label="x axis"
                    values={['log', 'linear']}
                    value={scales.x}
                    choose={(scale) => setViewParam('x', scale === 'log' ? '' : scale)}
                />
                <ChoiceButtons
                    label="y axis"
                    values={['log', 'linear']}
                    value={scales.y}
                    choose={(scale) => setViewParam('y', scale === 'log' ? '' : scale)}
                />
                {answerSource.isLive && <ScalingControls scaling={scaling} curve={curve} own={viewParams} />}
            </div>
            <BestProcesses scaling={scaling} curve={curve} />
            <TimeCurve scaling={scaling} curve={curve} scales={scales} />
            <PartShares scaling={scaling} curve={curve} />
            {curve.forecast && (
                <TableFigure
                    title="Predictions"
                    columns={predictionColumns(scaling, curve)}
                    rows={curve.forecast.predictions}
                    rowKey={(one) => JSON.stringify(one.params)}
                />
            )}
        </>
    );
}

interface ScalingControlsProps {
    scaling: ScalingModel;
    curve: ScalingCurve;
    /** The requested parameters; the query may be pending or have failed. */
    own: Record<string, string>;
}

/** Range, values of the other parameters, and minimum efficiency. */
function ScalingControls({ scaling, curve, own: viewParams }: ScalingControlsProps) {
    return (
        <>
            <label>
                Up to{' '}
                <select value={viewParams.times ?? String(scaling.times)} onChange={(event) => setViewParam('times', event.currentTarget.value)}>
                    {RANGE_FACTORS.map((times) => (
                        <option key={times} value={times}>
                            {times === '1' ? 'the measured range' : `${times} times that`}
                        </option>
                    ))}
                </select>
            </label>
            {Object.entries(curve.others).map(([name, number]) => (
                <label key={name}>
                    {name} ={' '}
                    <input
                        type="number"
                        class="scaling-number"
                        min={0}
                        step="any"
                        value={viewParams[`at.${name}`] ?? number}
                        onChange={(event) => setViewParam(`at.${name}`, event.currentTarget.value)}
                    />
                </label>
            ))}
            {curve.parameter === 'p' && (
                <label>
                    Minimum efficiency{' '}
                    <select
                        value={viewParams.efficiency ?? String(scaling.efficiency)}
                        onChange={(event) => setViewParam('efficiency', event.currentTarget.value)}
                    >
                        {[0.3, 0.5, 0.7, 0.8, 0.9].map((share) => (
                            <option key={share} value={String(share)}>
                                {percent(share)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
        </>
    );
}

function ModelFacts({ scaling }: { scaling: ScalingModel }) {
    const fixed = Object.entries(scaling.fixed).map(([name, number]) => `${name} = ${number}`);
    return (
        <dl class="scaling-facts">
            <dt>Model</dt>
            <dd>{scaling.name}</dd>
            <dt>Formula</dt>
            <dd>
                <code>
                    {scaling.quantity === 'time' ? 'T' : scaling.quantity} = {scaling.formula}
                </code>
            </dd>
            <dt>Measured</dt>
            <dd>
                {scaling.parameters.map(({ name, from, to }) => `${name} from ${from} to ${to}`).join(', ')}
                {fixed.length > 0 && `; constant: ${fixed.join(', ')}`}
            </dd>
            <dt>Model error</dt>
            <dd>
                {scaling.error_percent === null ? 'unknown' : `${threeDigits(scaling.error_percent)} %`}; run-to-run variation{' '}
                {threeDigits(scaling.noise_percent)} %
            </dd>
            {scaling.next && (
                <>
                    <dt>Next run to record</dt>
                    <dd>
                        <code>{scaling.next}</code>
                    </dd>
                </>
            )}
            {scaling.notes.map((note) => (
                <>
                    <dt>Note</dt>
                    <dd>{note}</dd>
                </>
            ))}
        </dl>
    );
}

/** The recommended numbers of processes, as sentences. */
function BestProcesses({ scaling, curve }: { scaling: ScalingModel; curve: ScalingCurve }) {
    const best = curve.forecast?.best;
    if (!best) return null;
    const between = ([low, high]: [number, number]) => (low < high ? ` (between ${count(low)} and ${count(high)})` : '');
    const time = best.still_falls
        ? `more than ${count(best.time)} (the time is still decreasing)`
        : `${count(best.time)}${between(best.time_between)}`;
    const enough =
        best.efficiency === null
            ? 'none'
            : best.still_enough
              ? `more than ${count(best.efficiency)}`
              : `${count(best.efficiency)}${best.efficiency_between ? between(best.efficiency_between) : ''}`;
    return (
        <p class="scaling-best">
            Fastest number of processes: <strong>{time}</strong>. Largest with an efficiency of at least {percent(scaling.efficiency)}:{' '}
            <strong>{enough}</strong>.
        </p>
    );
}

function predictionColumns({ unit, parameters }: ScalingModel, curve: ScalingCurve): TableColumn<Prediction>[] {
    const spread = (number: number | null, between: [number, number] | null, show: (number: number) => string) =>
        number === null ? '–' : `${show(number)}${between ? ` [${show(between[0])}, ${show(between[1])}]` : ''}`;
    const speedups: TableColumn<Prediction>[] = [
        { name: 'speed-up', value: (one) => one.speedup, render: (one) => spread(one.speedup, one.speedup_between, threeDigits) },
        { name: 'efficiency', value: (one) => one.efficiency, render: (one) => spread(one.efficiency, one.efficiency_between, percent) },
    ];
    return [
        ...parameters.map(({ name }): TableColumn<Prediction> => ({ name: name === 'p' ? 'processes' : name, value: ({ params }) => params[name] })),
        {
            name: `time (${unit})`,
            value: ({ seconds }) => seconds[1],
            render: ({ seconds: [low, middle, high] }) => `${formatValue(middle, unit)} [${formatValue(low, unit)}, ${formatValue(high, unit)}]`,
        },
        ...(curve.parameter === 'p' ? speedups : []),
        {
            name: 'dominant part',
            value: (one) => one.limited_by,
            render: (one) => (one.limited_by === null ? '–' : `${one.limited_by} (${percent(one.limited_by_share ?? 0)})`),
        },
        {
            name: 'extrapolation',
            description: 'Multiple of the measured range',
            value: (one) => one.times_beyond,
            render: (one) => (one.times_beyond > 1 ? `× ${threeDigits(one.times_beyond)}` : 'within'),
        },
    ];
}
