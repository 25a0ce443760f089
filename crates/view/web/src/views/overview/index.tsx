// Overview: how well the run used its time, why, and what to do about it.

import type { About, RecordingSummary } from '../../answers/about';
import type { Report } from '../../answers/report';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { selection } from '../../state/address';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { hasSums, selectedPart } from '../../state/use-sums';
import type { PageView } from '../view';
import { AdviceList } from './advice';
import { CoreStatement, CoreTable } from './cores';
import { Counters } from './counters';
import { EfficiencyTree } from './efficiency-tree';
import { Files } from './files';
import { Bindings, Hosts } from './hosts';
import { HybridEfficiencies, OpenMpRegions, ThreadTimes, ThreadWaits } from './openmp';
import { MessageSizes, Operations } from './operations';
import { RunFacts } from './run-facts';
import { CoreDelays, CriticalPathTable, RootCauses, WaitStates } from './wait-causes';
import './overview.css';
import type { OverviewProps } from './overview-props';
import { Phases } from './phases';
import { RankTimes } from './rank-times';
import { Remarks } from './remarks';
import { SelectionFigures } from './selection-figures';

export const overview: PageView = {
    name: 'overview',
    title: 'Overview',
    key: 'o',
    description: 'How efficiently the run used its time, and what to improve.',
    isAvailable: () => true,
    Component: Show,
};

function Show({ about }: { about: About }) {
    const shown = currentRecording(about);
    return shown ? <Overview number={shown.index} recording={shown.recording} /> : <p>There is no recording.</p>;
}

function Overview({ number, recording }: { number: number; recording: RecordingSummary }) {
    const query = useQuery<Report>(number, 'report');
    const part = hasSums(recording) ? selectedPart(selection.value, recording.ranks) : undefined;
    // The report of a long run takes a while; what needs no analysis is shown meanwhile.
    const isEarly = hasSums(recording) && query.state !== 'answered' && query.state !== 'failed';
    const shown = { recording, recordingIndex: number };
    return (
        <>
            {part && <SelectionFigures {...shown} part={part} title="Selection" />}
            {part && <h2>Whole run</h2>}
            <QueryStatus query={query}>{(report) => <OverviewSections report={report} {...shown} isWhole={part === undefined} />}</QueryStatus>
            {isEarly && !part && <SelectionFigures {...shown} part={{}} title="Until the report is ready" />}
        </>
    );
}

/** `isWhole`: the figures of a selection are not shown beside them. */
function OverviewSections({ isWhole, ...part }: OverviewProps & { isWhole: boolean }) {
    if (part.report.calls === 0) {
        return (
            <div class="overview">
                <RunFacts {...part} />
                <p>No MPI call was recorded.</p>
                <Remarks {...part} />
            </div>
        );
    }
    return (
        <div class="overview">
            <CoreStatement {...part} />
            {isWhole && <WholeRunNote />}
            <RunFacts {...part} />
            <div class="beside">
                <AdviceList {...part} />
                <div>
                    {isWhole && <EfficiencyTree {...part} />}
                    <HybridEfficiencies {...part} />
                </div>
            </div>
            <CoreTable {...part} />
            {isWhole && <RankTimes {...part} />}
            <OpenMpRegions {...part} />
            <ThreadWaits {...part} />
            <ThreadTimes {...part} />
            {isWhole && <WaitStates {...part} />}
            <RootCauses {...part} />
            <CoreDelays {...part} />
            <CriticalPathTable {...part} />
            <Phases {...part} />
            <div class="beside">
                {isWhole && <Operations {...part} />}
                <MessageSizes {...part} />
            </div>
            <Counters {...part} />
            <Files {...part} />
            <Hosts {...part} />
            <Bindings {...part} />
            <Remarks {...part} />
        </div>
    );
}
