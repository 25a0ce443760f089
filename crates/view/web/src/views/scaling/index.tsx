// The scaling: a model of the time over its parameters, with bands, points, predictions and the numbers of processes to choose.

import type { About } from '../../answers/about';
import type { Curve, Prediction, Scaling } from '../../answers/scaling';
import { type Query, source } from '../../answers/source';
import { Choice } from '../../charts/choice';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { State } from '../../charts/state';
import { select, selection, setOwn } from '../../state/address';
import { useAnswer } from '../../state/asked';
import { count, figures, percent } from '../../units';
import type { View } from '../view';
import { type Scales, TimeCurve } from './curve';
import { Parts } from './parts';
import './scaling.css';
import { value } from './words';

export const scaling: View = {
    name: 'scaling',
    title: 'Scaling',
    key: 'g',
    says: 'A model of the time: what was measured, and what larger runs would take.',
    has: ({ subjects }) => subjects.includes('scaling'),
    Show,
};

const TIMES = ['1', '2', '4', '8', '16', '64', '256'];

function Show(_: { about: About }) {
    const { own } = selection.value;
    const query: Query = { times: own.times, efficiency: own.efficiency };
    for (const [name, text] of Object.entries(own)) if (name.startsWith('at.')) query[name] = text;
    const asked = useAnswer<Scaling>(0, 'scaling', source.live ? query : {});
    return (
        <>
            {asked.state === 'refused' && Object.keys(own).length > 0 && (
                <button type="button" onClick={() => select({ own: {} }, true)}>
                    Usual values
                </button>
            )}
            <State asked={asked} keeps>
                {(answer) => <Shown scaling={answer} own={own} />}
            </State>
        </>
    );
}

function Shown({ scaling, own }: { scaling: Scaling; own: Record<string, string> }) {
    const curve = scaling.lines.find(({ parameter }) => parameter === own.over) ?? scaling.lines[scaling.first];
    if (!curve) return <p class="says">The time does not depend on anything: {scaling.formula}</p>;
    const scales: Scales = { x: own.x === 'linear' ? 'linear' : 'log', y: own.y === 'linear' ? 'linear' : 'log' };
    return (
        <>
            <Facts scaling={scaling} />
            <div class="scaling-controls">
                {scaling.lines.length > 1 && (
                    <Choice
                        label="Over"
                        values={scaling.lines.map(({ parameter }) => parameter)}
                        value={curve.parameter}
                        choose={(name) => setOwn('over', name)}
                    />
                )}
                <Choice label="Across" values={['log', 'linear']} value={scales.x} choose={(scale) => setOwn('x', scale === 'log' ? '' : scale)} />
                <Choice label="Up" values={['log', 'linear']} value={scales.y} choose={(scale) => setOwn('y', scale === 'log' ? '' : scale)} />
                {source.live && <Asking scaling={scaling} curve={curve} own={own} />}
            </div>
            <Best scaling={scaling} curve={curve} />
            <TimeCurve scaling={scaling} curve={curve} scales={scales} />
            <Parts scaling={scaling} curve={curve} />
            {curve.forecast && (
                <ListFigure
                    title="Predictions"
                    columns={columns(scaling, curve)}
                    rows={curve.forecast.predictions}
                    name={(one) => JSON.stringify(one.params)}
                />
            )}
        </>
    );
}

interface AskingProps {
    scaling: Scaling;
    curve: Curve;
    /** What is asked for, which may not be answered yet or be refused. */
    own: Record<string, string>;
}

/** How far to look, with which values of the other parameters, and how much efficiency is enough. */
function Asking({ scaling, curve, own }: AskingProps) {
    return (
        <>
            <label>
                Up to{' '}
                <select value={own.times ?? String(scaling.times)} onChange={(event) => setOwn('times', event.currentTarget.value)}>
                    {TIMES.map((times) => (
                        <option key={times} value={times}>
                            {times === '1' ? 'what was measured' : `${times} times that`}
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
                        value={own[`at.${name}`] ?? number}
                        onChange={(event) => setOwn(`at.${name}`, event.currentTarget.value)}
                    />
                </label>
            ))}
            {curve.parameter === 'p' && (
                <label>
                    Efficiency at least{' '}
                    <select
                        value={own.efficiency ?? String(scaling.efficiency)}
                        onChange={(event) => setOwn('efficiency', event.currentTarget.value)}
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

function Facts({ scaling }: { scaling: Scaling }) {
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
                {fixed.length > 0 && `; always ${fixed.join(', ')}`}
            </dd>
            <dt>Missed by</dt>
            <dd>
                {scaling.error_percent === null ? 'not known' : `${figures(scaling.error_percent)} %`}; runs differ by{' '}
                {figures(scaling.noise_percent)} %
            </dd>
            {scaling.next && (
                <>
                    <dt>The next run</dt>
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

/** The numbers of processes to choose, in sentences. */
function Best({ scaling, curve }: { scaling: Scaling; curve: Curve }) {
    const best = curve.forecast?.best;
    if (!best) return null;
    const between = ([low, high]: [number, number]) => (low < high ? ` (between ${count(low)} and ${count(high)})` : '');
    const time = best.still_falls ? `more than ${count(best.time)}: the time still falls there` : `${count(best.time)}${between(best.time_between)}`;
    const enough =
        best.efficiency === null
            ? 'none'
            : best.still_enough
              ? `more than ${count(best.efficiency)}`
              : `${count(best.efficiency)}${best.efficiency_between ? between(best.efficiency_between) : ''}`;
    return (
        <p class="scaling-best">
            Fastest number of processes: <strong>{time}</strong>. The most with an efficiency of at least {percent(scaling.efficiency)}:{' '}
            <strong>{enough}</strong>.
        </p>
    );
}

function columns({ unit, parameters }: Scaling, curve: Curve): Column<Prediction>[] {
    const spread = (number: number | null, between: [number, number] | null, show: (number: number) => string) =>
        number === null ? '–' : `${show(number)}${between ? ` [${show(between[0])}, ${show(between[1])}]` : ''}`;
    const speedups: Column<Prediction>[] = [
        { name: 'speed-up', value: (one) => one.speedup, show: (one) => spread(one.speedup, one.speedup_between, figures) },
        { name: 'efficiency', value: (one) => one.efficiency, show: (one) => spread(one.efficiency, one.efficiency_between, percent) },
    ];
    return [
        ...parameters.map(({ name }): Column<Prediction> => ({ name: name === 'p' ? 'processes' : name, value: ({ params }) => params[name] })),
        {
            name: `time (${unit})`,
            value: ({ seconds }) => seconds[1],
            show: ({ seconds: [low, middle, high] }) => `${value(middle, unit)} [${value(low, unit)}, ${value(high, unit)}]`,
        },
        ...(curve.parameter === 'p' ? speedups : []),
        {
            name: 'most of it',
            value: (one) => one.limited_by,
            show: (one) => (one.limited_by === null ? '–' : `${one.limited_by} (${percent(one.limited_by_share ?? 0)})`),
        },
        {
            name: 'beyond',
            says: 'How many times beyond what was measured',
            value: (one) => one.times_beyond,
            show: (one) => (one.times_beyond > 1 ? `× ${figures(one.times_beyond)}` : 'within'),
        },
    ];
}
