// Results of a replay compared with the recording: total, call sites and ranks.

import * as Plot from '@observablehq/plot';
import { useCallback, useMemo } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import type { CallSiteReplay, RankReplay, ReplayResult } from '../../answers/replay';
import { labelWidth, rankAxis, truncateLabel } from '../../charts/axis-labels';
import { Chart } from '../../charts/chart';
import { DataTable, type TableColumn, toCsvTable } from '../../charts/data-table';
import { Figure } from '../../charts/figure';
import type { LegendEntry } from '../../charts/legend';
import { isLocationSelected } from '../../links/is-location-selected';
import { LocationLink } from '../../links/location-link';
import { OperationLink } from '../../links/operation-link';
import { SelectRanks } from '../../links/ranks-field';
import { RanksLink } from '../../links/ranks-link';
import { findLocation } from '../../links/source-location';
import { parseRanks } from '../../ranks';
import { select, selection } from '../../state/address';
import { count, percent, seconds, trimZeros } from '../../units';

const RECORDED = { label: 'recorded', variable: '--other' };
const REPLAYED = { label: 'replayed', variable: '--sending' };
const LEGEND: LegendEntry[] = [RECORDED, REPLAYED];
/** Maximum number of call sites with bars. */
const MAX_SITES = 12;

export function ResultSections({ replay, recording }: { replay: ReplayResult; recording: RecordingSummary }) {
    return (
        <>
            <RunTimes replay={replay} />
            <SiteTimes sites={replay.call_sites} recording={recording} />
            <RankEndTimes ranks={replay.per_rank} />
        </>
    );
}

/** A relative change in percent, with its sign. */
export function percentChange(from: number | null | undefined, to: number): string {
    if (!from) return '–';
    const share = to / from - 1;
    if (Math.abs(share) < 5e-4) return '± 0 %';
    return `${share >= 0 ? '+' : '−'}${Math.abs(share) < 0.1 ? (100 * Math.abs(share)).toFixed(1) : count(100 * Math.abs(share))} %`;
}

/** CSS class of a change; below 0.05 % it counts as equal. */
function changeClass(measured: number | null, replayed: number): string {
    if (!measured || Math.abs(replayed / measured - 1) < 5e-4) return 'same';
    return replayed < measured ? 'less' : 'more';
}

function RunTimes({ replay }: { replay: ReplayResult }) {
    const [low, middle, high] = replay.seconds;
    const { measured_s: measured, unchanged_s: unchanged, machine } = replay;
    return (
        <dl class="replay-times">
            <div>
                <dt>Recorded</dt>
                <dd>{measured === null ? '–' : seconds(measured)}</dd>
            </div>
            {machine !== undefined && unchanged !== undefined && (
                <div>
                    <dt>On {machine}, unchanged</dt>
                    <dd>
                        {seconds(unchanged)} <span class="muted">{percentChange(measured, unchanged)}</span>
                    </dd>
                </div>
            )}
            <div>
                <dt>Replayed{machine === undefined ? '' : ` on ${machine}`}</dt>
                <dd>
                    <strong>{seconds(middle)}</strong>{' '}
                    {low < high && (
                        <span>
                            [{seconds(low)}, {seconds(high)}]{' '}
                        </span>
                    )}
                    <strong class={changeClass(measured, middle)}>{percentChange(measured, middle)}</strong>
                </dd>
            </div>
            <div>
                <dt>Time span</dt>
                <dd>from the end of MPI_Init to MPI_Finalize</dd>
            </div>
            {replay.unmatched > 0 && (
                <div>
                    <dt>Unmatched</dt>
                    <dd>{count(replay.unmatched)} messages</dd>
                </div>
            )}
            {(replay.notes ?? []).map((note) => (
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

const siteLabel = ({ place, operation }: CallSiteReplay): string => `${operation} at ${place}`;

const maxSeconds = ({ recorded_s, replayed_s }: CallSiteReplay): number => Math.max(recorded_s ?? 0, replayed_s);

const siteColumns = (recording: RecordingSummary): TableColumn<CallSiteReplay>[] => [
    {
        name: 'call site',
        value: ({ place }) => place,
        render: ({ place, operation }) => {
            const found = findLocation(recording, place);
            return found ? <LocationLink recording={recording} location={found} operation={operation} /> : place;
        },
    },
    {
        name: 'operation',
        value: ({ operation }) => operation,
        render: ({ operation }) => <OperationLink name={operation} />,
    },
    { name: 'calls', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
    {
        name: 'recorded',
        unit: 's',
        value: ({ recorded_s }) => recorded_s,
        render: ({ recorded_s }) => (recorded_s === null ? '–' : seconds(recorded_s)),
    },
    { name: 'replayed', unit: 's', value: ({ replayed_s }) => replayed_s, render: ({ replayed_s }) => seconds(replayed_s) },
    {
        name: 'change',
        unit: 's',
        description: 'Replayed minus recorded, summed over ranks',
        value: ({ recorded_s, replayed_s }) => (recorded_s === null ? null : replayed_s - recorded_s),
        render: ({ recorded_s, replayed_s }) =>
            recorded_s === null ? '–' : `${replayed_s < recorded_s ? '−' : '+'}${seconds(Math.abs(replayed_s - recorded_s))}`,
    },
];

function SiteTimes({ sites, recording }: { sites: CallSiteReplay[]; recording: RecordingSummary }) {
    const draw = useCallback(
        (width: number, colour: (variable: string) => string): Plot.PlotOptions => {
            const shown = [...sites].sort((one, other) => maxSeconds(other) - maxSeconds(one)).slice(0, MAX_SITES);
            const bars: Bar[] = shown.flatMap((site) => [
                { name: siteLabel(site), run: 'recorded', seconds: site.recorded_s ?? 0 },
                { name: siteLabel(site), run: 'replayed', seconds: site.replayed_s },
            ]);
            const left = labelWidth(shown.map(siteLabel), width);
            return {
                height: 40 + 30 * shown.length,
                marginLeft: left,
                x: { label: 'MPI time, summed over ranks', tickFormat: (value: number) => trimZeros(seconds(value)), grid: true, ticks: 6 },
                y: { axis: null, domain: ['recorded', 'replayed'] },
                fy: {
                    label: null,
                    domain: shown.map(siteLabel),
                    padding: 0.25,
                    axis: 'left',
                    tickFormat: (name: string) => truncateLabel(name, left),
                },
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
    const columns = siteColumns(recording);
    const isMarked = ({ place, operation }: CallSiteReplay) => {
        const found = findLocation(recording, place);
        return found !== undefined && isLocationSelected(recording, found, operation);
    };
    return (
        <Figure title="Call sites, recorded and replayed" legend={LEGEND} table={() => toCsvTable(columns, sites)}>
            <Chart label="MPI time of call sites, recorded and replayed, as pairs of bars" draw={draw} />
            <details>
                <summary>All call sites</summary>
                <DataTable
                    label="Call sites, recorded and replayed"
                    columns={columns}
                    rows={sites}
                    rowKey={siteLabel}
                    initialRows={50}
                    isMarked={isMarked}
                />
            </details>
        </Figure>
    );
}

function RankEndTimes({ ranks }: { ranks: RankReplay[] }) {
    const wanted = selection.value.ranks;
    const selectedRanks = useMemo(() => (wanted === undefined ? undefined : new Set(parseRanks(wanted, ranks.length))), [wanted, ranks.length]);
    const fillOpacity = ({ rank }: RankReplay) => ((selectedRanks?.has(rank) ?? true) ? 1 : 0.3);
    const draw = useCallback(
        (_: number, colour: (variable: string) => string): Plot.PlotOptions => ({
            height: 180,
            marginLeft: 62,
            x: rankAxis(ranks.length),
            y: { label: null, tickFormat: (value: number) => trimZeros(seconds(value)), zero: true, nice: true, grid: true, ticks: 5 },
            marks: [
                Plot.ruleX(ranks, { x: 'rank', y1: 'recorded_s', y2: 'replayed_s', stroke: colour('--line'), strokeWidth: 2 }),
                Plot.dot(ranks, { x: 'rank', y: 'recorded_s', fill: colour(RECORDED.variable), fillOpacity, r: 3.2, symbol: 'square' }),
                Plot.dot(ranks, {
                    x: 'rank',
                    y: 'replayed_s',
                    fill: colour(REPLAYED.variable),
                    fillOpacity,
                    r: 3.2,
                    title: ({ rank, recorded_s, replayed_s }: RankReplay) =>
                        `rank ${rank}: ${seconds(recorded_s ?? 0)} recorded, ${seconds(replayed_s)} replayed`,
                }),
                Plot.ruleY([0]),
            ],
        }),
        [ranks, selectedRanks],
    );
    const choose = useCallback((x: number) => select({ ranks: String(Math.min(Math.max(Math.round(x), 0), ranks.length - 1)) }), [ranks.length]);
    const last = [...ranks].sort((one, other) => other.replayed_s - one.replayed_s)[0];
    return (
        <Figure
            title="End time of each rank"
            legend={LEGEND}
            controls={<SelectRanks most={ranks.length} />}
            table={() => ({
                columns: ['rank', 'recorded (s)', 'replayed (s)'],
                rows: ranks.map(({ rank, recorded_s, replayed_s }) => [rank, recorded_s, replayed_s]),
            })}
        >
            <Chart label="End time of each rank, recorded and replayed" draw={draw} choose={choose} />
            {last && (
                <p class="description">
                    Rank <RanksLink ranks={[last.rank]} /> ends last, {seconds(last.replayed_s)} after its start
                    {last.recorded_s ? ` (${percent(last.replayed_s / last.recorded_s)} of the recorded time)` : ''}.
                </p>
            )}
        </Figure>
    );
}
