// Timeline view: what each rank did when, from the whole run to single calls.

import { useEffect, useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import { answerSource } from '../../answers/answer-source';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { Figure } from '../../charts/figure';
import { LiveText } from '../../charts/live-text';
import { RanksField, SelectRanks } from '../../links/ranks-field';
import { parseRanks } from '../../ranks';
import { selection, setViewParam } from '../../state/address';
import { type CurrentRecording, currentRecording } from '../../state/current-recording';
import { count, nanoseconds, timeRange } from '../../units';
import type { PageView } from '../view';
import { ActivityStack } from './activity-stack';
import { ActivityTable } from './activity-table';
import { CallDetails } from './call-details';
import { CallSearch } from './call-search';
import { timelineSvg, timelineTable } from './export';
import { OverviewStrip } from './overview-strip';
import { bestRaster, hasThreadRows, laneCounts } from './scene';
import { durationOf, isSameSpan } from './time-span';
import { TimelineCanvas } from './timeline-canvas';
import { GROUPINGS, type Grouping, TimelineController } from './timeline-controller';
import { cellDuration } from './timeline-data';
import { listenForShortcuts, TIMELINE_SHORTCUTS } from './timeline-shortcuts';
import './timeline.css';

export const timeline: PageView = {
    name: 'timeline',
    title: 'Timeline',
    key: 't',
    description: 'What each rank did when.',
    isAvailable: (about) => about.subjects.includes('timeline'),
    Component: Show,
    shortcuts: TIMELINE_SHORTCUTS,
};

function Show({ about }: { about: About }) {
    const shown = currentRecording(about);
    return shown ? <Timeline key={shown.index} shown={shown} hasRoles={about.subjects.includes('program')} /> : <p>There is no recording.</p>;
}

function Timeline({ shown, hasRoles }: { shown: CurrentRecording; hasRoles: boolean }) {
    const controller = useMemo(() => new TimelineController(shown), [shown.recording]);
    useEffect(() => {
        const end = listenForShortcuts(controller);
        return () => {
            end();
            controller.dispose();
        };
    }, [controller]);
    return (
        <Figure
            title="Ranks over time"
            svg={() => timelineSvg(controller.scene.value)}
            table={() => timelineTable(controller.scene.value)}
            controls={<TimelineTools controller={controller} hasRoles={hasRoles} />}
        >
            {answerSource.isLive && <CallSearch controller={controller} />}
            <LiveText class="timeline-status" text={statusText(controller)} />
            <div class="timeline-columns">
                <div>
                    <OverviewStrip controller={controller} />
                    <ActivityStack controller={controller} />
                    <TimelineCanvas controller={controller} />
                    <p id="timeline-keys" class="timeline-hint">
                        {TIMELINE_SHORTCUTS.map(([key, action]) => `${key}: ${action}`).join(' · ')}
                    </p>
                </div>
                <aside aria-label="Contents of the timeline">
                    <ActivityTable controller={controller} />
                    {answerSource.isLive && <CallDetails controller={controller} />}
                </aside>
            </div>
        </Figure>
    );
}

/** Buttons for the shortcuts, and the choice of ranks. */
function TimelineTools({ controller, hasRoles }: { controller: TimelineController; hasRoles: boolean }) {
    const { ranks } = selection.value;
    const groups = GROUPINGS.filter((one) => isGroupingAvailable(controller, one, hasRoles));
    return (
        <span class="timeline-tools">
            {groups.length > 1 && (
                <ChoiceButtons
                    label="By"
                    values={groups}
                    value={controller.grouping.value}
                    choose={(next) => setViewParam('by', next === controller.defaultGrouping() ? '' : next)}
                />
            )}
            {answerSource.isLive && (
                <RanksField
                    label="Show ranks"
                    value={controller.shownRanks.value ?? ''}
                    rankCount={controller.ranks}
                    choose={(next) => setViewParam('show', next)}
                />
            )}
            <SelectRanks most={controller.ranks} />
            {ranks !== undefined && answerSource.isLive && (
                <button type="button" onClick={() => setViewParam('show', ranks)} title="Show only the selected ranks">
                    Only {ranks.length < 12 ? ranks : 'selected'}
                </button>
            )}
            <button type="button" onClick={() => controller.zoom(0.5)} aria-label="Zoom in" title="Zoom in (+)">
                +
            </button>
            <button type="button" onClick={() => controller.zoom(2)} aria-label="Zoom out" title="Zoom out (−)">
                −
            </button>
            <button type="button" onClick={() => controller.showActiveSpan()} title="From the first MPI_Init to the last MPI_Finalize">
                Active span
            </button>
            <button type="button" onClick={() => controller.showWholeRun()} title="The whole run (0)">
                Whole run
            </button>
        </span>
    );
}

/** A standalone file only has ranks, and threads if there are any of OpenMP. */
function isGroupingAvailable(controller: TimelineController, grouping: Grouping, hasRoles: boolean): boolean {
    const { hosts, openmp_threads } = controller.summary;
    switch (grouping) {
        case 'rank':
            return true;
        case 'thread':
            return openmp_threads > 0;
        case 'host':
            return answerSource.isLive && hosts.length > 1;
        case 'role':
            return answerSource.isLive && hasRoles;
    }
}

/** Status line: the window, its content, and what cannot be shown. */
function statusText(controller: TimelineController): string {
    const status = controller.queries.status.value;
    if (status) return status;
    const { span, rasters, calls, rows, sites, operation } = controller.scene.value;
    const raster = bestRaster(rasters, span);
    const parts = [`${timeRange(span.from, span.to)}: ${nanoseconds(durationOf(span))}`];
    if (raster && isSameSpan(raster.requestedSpan, span)) parts.push(`${calls ? '' : 'about '}${count(raster.calls)} calls`);
    if (calls && [...laneCounts({ calls, rows }).values()].some((lanes) => lanes > 1)) parts.push('each thread has a lane');
    parts.push(...threadRowNotes(controller));
    const isLifted = sites !== undefined || operation !== undefined;
    if (raster && !answerSource.isLive && isLifted) parts.push('this file has no single calls; use `sintonia view` to see the selected ones');
    else if (raster && !answerSource.isLive && durationOf(span) <= 1.01 * controller.minDuration())
        parts.push(`maximum zoom of this file: a cell is ${nanoseconds(cellDuration(raster))}; use \`sintonia view\` to see single calls`);
    if (raster && !calls && answerSource.isLive && isLifted) parts.push('zoom in to see which calls are selected');
    return parts.join(' · ');
}

/** Regions of the window, and whether some ranks have no room. */
function threadRowNotes(controller: TimelineController): string[] {
    const { span, rows, regions } = controller.scene.value;
    if (!hasThreadRows({ rows })) return [];
    const shown = new Set(rows.flatMap(({ ranks }) => ranks)).size;
    const wanted = controller.shownRanks.value ? parseRanks(controller.shownRanks.value, controller.ranks).length : controller.ranks;
    const inside = (regions ?? []).filter(({ begin, end }) => begin < span.to && end > span.from);
    const executions = inside.reduce((sum, region) => sum + region.executions, 0);
    const isComplete = controller.queries.regions.value?.isComplete ?? true;
    return [
        ...(regions ? [`${isComplete ? '' : 'more than '}${count(executions)} parallel regions`] : []),
        ...(shown < wanted ? [`threads of the first ${shown} of ${wanted} ranks; choose the ranks to see others`] : []),
    ];
}
