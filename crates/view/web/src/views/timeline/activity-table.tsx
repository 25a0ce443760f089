// Time of the activities in the window; each can be shown or hidden.

import { answerSource } from '../../answers/answer-source';
import type { Sums } from '../../answers/sums';
import { useDebounced } from '../../state/debounce';
import { latestAnswer } from '../../state/use-query';
import { hasSums, useSums } from '../../state/use-sums';
import { nanoseconds, percent, plural } from '../../units';
import { activityShares, bestRaster, hasThreadRows, laneCounts } from './scene';
import type { TimelineController } from './timeline-controller';
import type { Raster } from './timeline-data';

const KIND_DESCRIPTIONS: Record<string, string> = {
    absent: 'before MPI_Init and after MPI_Finalize',
    computing: 'computation, of the first thread of each rank',
    sending: 'point-to-point',
    receiving: 'point-to-point',
    completing: 'Wait, Test, Probe',
    collective: 'collectives and communicators',
    'one-sided': 'RMA windows',
    files: 'MPI-IO',
    other: 'everything else in MPI',
    parallel: 'computation in an OpenMP region',
    barrier: 'at a barrier of OpenMP, or at the end of a region, for other threads',
    lock: 'for a critical section or a lock of OpenMP',
    runtime: 'until a thread begins a region; other synchronisation and creation of tasks',
    idle: 'thread of a team outside regions',
};

const SETTLED_MS = 150;

export function ActivityTable({ controller }: { controller: TimelineController }) {
    const { rasters, span, rows } = controller.scene.value;
    const raster = bestRaster(rasters, span);
    if (!raster) return null;
    // The threads of OpenMP regions are on the picture only.
    const isExact = hasSums(controller.summary) && !hasThreadRows({ rows });
    return isExact ? <ExactActivityTable controller={controller} raster={raster} /> : <ActivityRows controller={controller} raster={raster} />;
}

/** The time of the activities in the window, as soon as it rests. */
function ExactActivityTable({ controller, raster }: TableProps) {
    const { span } = controller.scene.value;
    const settled = useDebounced(`${Math.round(span.from)} ${Math.round(span.to)}`, SETTLED_MS);
    const [from = 0, to = 0] = settled.split(' ').map(Number);
    const query = useSums(controller.recording, { from, to, ranks: controller.shownRanks.value });
    const isCurrent = settled === `${Math.round(span.from)} ${Math.round(span.to)}`;
    return <ActivityRows controller={controller} raster={raster} sums={isCurrent ? latestAnswer(query) : undefined} />;
}

interface TableProps {
    controller: TimelineController;
    raster: Raster;
    /** The time of each activity, if it is known; else shares are those of the dominant activities of cells. */
    sums?: Sums;
}

function ActivityRows({ controller, raster, sums }: TableProps) {
    const { span, rows, calls } = controller.scene.value;
    const hasLanes = calls !== undefined && [...laneCounts({ calls, rows }).values()].some((lanes) => lanes > 1);
    const found = activityShares(raster, span);
    const all = Math.max(1, sums?.activity.reduce((sum, ns) => sum + ns, 0) ?? 1);
    const part = (share: number | undefined) => (share === undefined ? '' : percent(share));
    const exact = (ns: number | undefined) => (ns === undefined ? undefined : { share: percent(ns / all), time: ns > 0 ? nanoseconds(ns) : '' });
    const waiting = sums?.waits ? sums.per_rank.waiting.reduce((sum, ns) => sum + ns, 0) : undefined;
    const lacking = controller.queries.isAnalysisPending.value ? '…' : '–';
    return (
        <table class="timeline-kinds">
            <caption>
                In the window, of {hasLanes && !sums ? 'the first threads of ' : ''}
                {sums ? plural(sums.per_rank.rank.length, 'rank') : plural(rows.length, hasThreadRows({ rows }) ? 'thread' : 'row')}
            </caption>
            <thead class="visually-hidden">
                <tr>
                    <th scope="col">activity</th>
                    <th scope="col">time</th>
                    <th scope="col">share of time</th>
                </tr>
            </thead>
            <tbody>
                {raster.kinds.map((kind, index) => (
                    <ActivityRow
                        key={kind}
                        name={kind}
                        description={KIND_DESCRIPTIONS[kind]}
                        share={part(found.kinds[index])}
                        {...exact(sums?.activity[index])}
                        on={!controller.hiddenKinds.value.has(kind)}
                        onToggle={() => controller.toggle('off', kind)}
                    />
                ))}
                {!sums && found.mixed > 0.0005 && (
                    <tr title="Activities that are not dominant in their cell">
                        <th scope="row" class="plain">
                            finer than a cell
                        </th>
                        <td />
                        <td>{part(found.mixed)}</td>
                    </tr>
                )}
            </tbody>
            <tbody>
                <ActivityRow
                    name="waiting"
                    description={raster.waiting ? 'for other ranks' : controller.queries.unavailableReason.value}
                    share={found.waiting === undefined ? lacking : part(found.waiting)}
                    {...exact(waiting)}
                    on={!controller.hiddenLayers.value.has('waiting')}
                    onToggle={() => controller.toggle('hide', 'waiting')}
                />
                {found.noCore !== undefined && (
                    <ActivityRow
                        name="no-core"
                        title="without a core"
                        description="ready to run, but no core was free"
                        share={part(found.noCore)}
                        on={!controller.hiddenLayers.value.has('no-core')}
                        onToggle={() => controller.toggle('hide', 'no-core')}
                    />
                )}
                <ActivityRow
                    name="path"
                    title="critical path"
                    description={raster.path ? 'determines the duration of the run' : controller.queries.unavailableReason.value}
                    share={found.path === undefined ? lacking : part(found.path)}
                    on={!controller.hiddenLayers.value.has('path')}
                    onToggle={() => controller.toggle('hide', 'path')}
                />
                {answerSource.isLive && (
                    <ActivityRow
                        name="messages"
                        description="arrows, if there are few"
                        share={typeof raster.messages === 'number' ? String(raster.messages) : (raster.messages ?? '')}
                        on={!controller.hiddenLayers.value.has('messages')}
                        onToggle={() => controller.toggle('hide', 'messages')}
                    />
                )}
            </tbody>
        </table>
    );
}

interface ActivityRowProps {
    name: string;
    title?: string;
    description: string | undefined;
    share: string;
    /** If it is known exactly. */
    time?: string;
    on: boolean;
    onToggle: () => void;
}

function ActivityRow({ name, title = name, description, share, time = '', on, onToggle }: ActivityRowProps) {
    return (
        <tr>
            <th scope="row">
                <button type="button" aria-pressed={on} title={description} onClick={onToggle}>
                    <span class={`mark ${name}`} style={{ background: name === 'messages' || name === 'absent' ? undefined : `var(--${name})` }} />
                    {title}
                </button>
            </th>
            <td class="time">{time}</td>
            <td>{share}</td>
        </tr>
    );
}
