// What came of a replay beside what was measured: the whole, each call site, each rank.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import type { RankReplayed, Replayed, SiteReplayed } from '../../answers/replay';
import { Chart } from '../../charts/chart';
import { Figure } from '../../charts/figure';
import type { Entry } from '../../charts/legend';
import { fitting, rankAxis, roomFor } from '../../charts/names';
import { type Column, Rows, tableOf } from '../../charts/rows';
import { At } from '../../links/at';
import { isPlaceSelected } from '../../links/marked';
import { Operation } from '../../links/operation';
import { placeNamed } from '../../links/place';
import { Ranks } from '../../links/ranks';
import { SelectRanks } from '../../links/ranks-field';
import { parse } from '../../ranks';
import { select, selection } from '../../state/address';
import { brief, count, percent, seconds } from '../../units';

const RECORDED = { label: 'recorded', variable: '--other' };
const REPLAYED = { label: 'replayed', variable: '--sending' };
const LEGEND: Entry[] = [RECORDED, REPLAYED];
/** Call sites with bars of their own. */
const MOST_SITES = 12;

export function Result({ replayed, recorded }: { replayed: Replayed; recorded: Recorded }) {
    return (
        <>
            <Whole replayed={replayed} />
            <Sites sites={replayed.call_sites} recorded={recorded} />
            <RankEnds ranks={replayed.per_rank} />
        </>
    );
}

/** A change in percent, with its sign. */
export function change(from: number | null | undefined, to: number): string {
    if (!from) return '–';
    const share = to / from - 1;
    if (Math.abs(share) < 5e-4) return '± 0 %';
    return `${share >= 0 ? '+' : '−'}${Math.abs(share) < 0.1 ? (100 * Math.abs(share)).toFixed(1) : count(100 * Math.abs(share))} %`;
}

/** Whether it takes less or more, as far as anybody would notice. */
function sense(measured: number | null, replayed: number): string {
    if (!measured || Math.abs(replayed / measured - 1) < 5e-4) return 'same';
    return replayed < measured ? 'less' : 'more';
}

function Whole({ replayed }: { replayed: Replayed }) {
    const [low, middle, high] = replayed.seconds;
    const { measured_s: measured, unchanged_s: unchanged, machine } = replayed;
    return (
        <dl class="replay-whole">
            <div>
                <dt>Recorded</dt>
                <dd>{measured === null ? '–' : seconds(measured)}</dd>
            </div>
            {machine !== undefined && unchanged !== undefined && (
                <div>
                    <dt>On {machine}, unchanged</dt>
                    <dd>
                        {seconds(unchanged)} <span class="quiet">{change(measured, unchanged)}</span>
                    </dd>
                </div>
            )}
            <div>
                <dt>Replayed{machine === undefined ? '' : ` on ${machine}`}</dt>
                <dd>
                    <strong>{seconds(middle)}</strong> {low < high && <span>[{seconds(low)}, {seconds(high)}] </span>}
                    <strong class={sense(measured, middle)}>{change(measured, middle)}</strong>
                </dd>
            </div>
            <div>
                <dt>Between</dt>
                <dd>the end of MPI_Init and MPI_Finalize</dd>
            </div>
            {replayed.unmatched > 0 && (
                <div>
                    <dt>Without partner</dt>
                    <dd>{count(replayed.unmatched)} messages</dd>
                </div>
            )}
            {(replayed.notes ?? []).map((note) => (
                <div key={note}>
                    <dt>Note</dt>
                    <dd>{note}</dd>
                </div>
            ))}
        </dl>
    );
}

interface Bar {
    name: string;
    run: string;
    seconds: number;
}

const nameOf = ({ place, operation }: SiteReplayed): string => `${operation} at ${place}`;

const most = ({ recorded_s, replayed_s }: SiteReplayed): number => Math.max(recorded_s ?? 0, replayed_s);

const columnsOf = (recorded: Recorded): Column<SiteReplayed>[] => [
    {
        name: 'call site',
        value: ({ place }) => place,
        show: ({ place, operation }) => {
            const found = placeNamed(recorded, place);
            return found ? <At recording={recorded} place={found} operation={operation} /> : place;
        },
    },
    {
        name: 'operation',
        value: ({ operation }) => operation,
        show: ({ operation }) => <Operation name={operation} />,
    },
    { name: 'calls', value: ({ calls }) => calls, show: ({ calls }) => count(calls) },
    {
        name: 'recorded',
        unit: 's',
        value: ({ recorded_s }) => recorded_s,
        show: ({ recorded_s }) => (recorded_s === null ? '–' : seconds(recorded_s)),
    },
    { name: 'replayed', unit: 's', value: ({ replayed_s }) => replayed_s, show: ({ replayed_s }) => seconds(replayed_s) },
    {
        name: 'change',
        unit: 's',
        says: 'Replayed less recorded, over all ranks',
        value: ({ recorded_s, replayed_s }) => (recorded_s === null ? null : replayed_s - recorded_s),
        show: ({ recorded_s, replayed_s }) =>
            recorded_s === null ? '–' : `${replayed_s < recorded_s ? '−' : '+'}${seconds(Math.abs(replayed_s - recorded_s))}`,
    },
];

function Sites({ sites, recorded }: { sites: SiteReplayed[]; recorded: Recorded }) {
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = [...sites].sort((one, other) => most(other) - most(one)).slice(0, MOST_SITES);
            const bars: Bar[] = shown.flatMap((site) => [
                { name: nameOf(site), run: 'recorded', seconds: site.recorded_s ?? 0 },
                { name: nameOf(site), run: 'replayed', seconds: site.replayed_s },
            ]);
            const left = roomFor(shown.map(nameOf), width);
            return {
                height: 40 + 30 * shown.length,
                marginLeft: left,
                x: { label: 'time in MPI of all ranks', tickFormat: (value: number) => brief(seconds(value)), grid: true, ticks: 6 },
                y: { axis: null, domain: ['recorded', 'replayed'] },
                fy: { label: null, domain: shown.map(nameOf), padding: 0.25, axis: 'left', tickFormat: (name: string) => fitting(name, left) },
                marks: [
                    Plot.barX(bars, {
                        fy: 'name',
                        y: 'run',
                        x: 'seconds',
                        fill: (bar: Bar) => colour(bar.run === 'recorded' ? RECORDED.variable : REPLAYED.variable),
                        title: (bar: Bar) => `${bar.name}, ${bar.run}: ${seconds(bar.seconds)}`,
                    }),
                    Plot.ruleX([0]),
                ],
            };
        },
        [sites],
    );
    if (sites.length === 0) return null;
    const columns = columnsOf(recorded);
    const isMarked = ({ place, operation }: SiteReplayed) => {
        const found = placeNamed(recorded, place);
        return found !== undefined && isPlaceSelected(recorded, found, operation);
    };
    return (
        <Figure
            title="Call sites, recorded and replayed"
            legend={LEGEND}
            table={() => tableOf(columns, sites)}
        >
            <Chart label="Time in MPI of call sites, recorded and replayed, as pairs of bars" draw={draw} />
            <details>
                <summary>All call sites</summary>
                <Rows label="Call sites, recorded and replayed" columns={columns} rows={sites} name={nameOf} most={50} isMarked={isMarked} />
            </details>
        </Figure>
    );
}

function RankEnds({ ranks }: { ranks: RankReplayed[] }) {
    const wanted = selection.value.ranks;
    const chosen = useMemo(() => (wanted === undefined ? undefined : new Set(parse(wanted, ranks.length))), [wanted, ranks.length]);
    const fillOpacity = ({ rank }: RankReplayed) => (chosen?.has(rank) ?? true ? 1 : 0.3);
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: 180,
            marginLeft: 62,
            x: rankAxis(ranks.length),
            y: { label: null, tickFormat: (value: number) => brief(seconds(value)), zero: true, nice: true, grid: true, ticks: 5 },
            marks: [
                Plot.ruleX(ranks, { x: 'rank', y1: 'recorded_s', y2: 'replayed_s', stroke: colour('--line'), strokeWidth: 2 }),
                Plot.dot(ranks, { x: 'rank', y: 'recorded_s', fill: colour(RECORDED.variable), fillOpacity, r: 3.2, symbol: 'square' }),
                Plot.dot(ranks, {
                    x: 'rank',
                    y: 'replayed_s',
                    fill: colour(REPLAYED.variable),
                    fillOpacity,
                    r: 3.2,
                    title: ({ rank, recorded_s, replayed_s }: RankReplayed) =>
                        `rank ${rank}: ${seconds(recorded_s ?? 0)} recorded, ${seconds(replayed_s)} replayed`,
                }),
                Plot.ruleY([0]),
            ],
        }),
        [ranks, chosen],
    );
    const choose = useCallback((x: number) => select({ ranks: String(Math.min(Math.max(Math.round(x), 0), ranks.length - 1)) }), [ranks.length]);
    const last = [...ranks].sort((one, other) => other.replayed_s - one.replayed_s)[0];
    return (
        <Figure
            title="When ranks end"
            legend={LEGEND}
            controls={<SelectRanks most={ranks.length} />}
            table={() => ({
                columns: ['rank', 'recorded (s)', 'replayed (s)'],
                rows: ranks.map(({ rank, recorded_s, replayed_s }) => [rank, recorded_s, replayed_s]),
            })}
        >
            <Chart label="When each rank ends, recorded and replayed" draw={draw} choose={choose} />
            {last && (
                <p class="says">
                    The last to end is rank <Ranks ranks={[last.rank]} />, {seconds(last.replayed_s)} after it began
                    {last.recorded_s ? ` (${percent(last.replayed_s / last.recorded_s)} of what was recorded)` : ''}.
                </p>
            )}
        </Figure>
    );
}
