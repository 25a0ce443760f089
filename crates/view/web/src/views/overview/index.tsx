// Overview: how well the run used its time, why, and what to do about it.

import type { About, RecordingSummary } from '../../answers/about';
import type { Report } from '../../answers/report';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
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
    return <QueryStatus query={query}>{(report) => <OverviewSections report={report} recording={recording} recordingIndex={number} />}</QueryStatus>;
}

function OverviewSections(part: OverviewProps) {
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
            <WholeRunNote />
            <RunFacts {...part} />
            <div class="beside">
                <AdviceList {...part} />
                <div>
                    <EfficiencyTree {...part} />
                    <HybridEfficiencies {...part} />
                </div>
            </div>
            <CoreTable {...part} />
            <RankTimes {...part} />
            <OpenMpRegions {...part} />
            <ThreadWaits {...part} />
            <ThreadTimes {...part} />
            <WaitStates {...part} />
            <RootCauses {...part} />
            <CoreDelays {...part} />
            <CriticalPathTable {...part} />
            <Phases {...part} />
            <div class="beside">
                <Operations {...part} />
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
