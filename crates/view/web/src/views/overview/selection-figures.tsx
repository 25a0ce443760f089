// Figures of the selected time and ranks.

import type { RecordingSummary } from '../../answers/about';
import type { QueryParams } from '../../answers/answer-source';
import { type SelectionReport, selectionReport } from '../../answers/sums';
import { QueryStatus } from '../../charts/query-status';
import { ViewLink } from '../../links/view-link';
import { useSums } from '../../state/use-sums';
import { count, percent, seconds } from '../../units';
import { EfficiencyTree } from './efficiency-tree';
import { FactList } from './fact-list';
import { Operations } from './operations';
import { RankTimes } from './rank-times';
import { WaitStates } from './wait-causes';

interface Props {
    recording: RecordingSummary;
    recordingIndex: number;
    /** The selected time and ranks; nothing for the whole run. */
    part: QueryParams;
    title: string;
}

export function SelectionFigures({ recording, recordingIndex, part, title }: Props) {
    const query = useSums(recordingIndex, part);
    return (
        <section class="overview" aria-label={title}>
            <h2>{title}</h2>
            <QueryStatus query={query}>
                {(sums) => <Figures report={selectionReport(sums, recording)} recording={recording} recordingIndex={recordingIndex} />}
            </QueryStatus>
        </section>
    );
}

function Figures({ report, recording, recordingIndex }: { report: SelectionReport; recording: RecordingSummary; recordingIndex: number }) {
    return (
        <>
            <Facts report={report} />
            <EfficiencyTree report={report} />
            <RankTimes report={report} />
            {report.hasWaits && <WaitStates report={report} recording={recording} recordingIndex={recordingIndex} isPart />}
            <Operations report={report} />
            <p>
                <ViewLink view="timeline" change={{}}>
                    Show it on the timeline
                </ViewLink>
            </p>
        </>
    );
}

function Facts({ report }: { report: SelectionReport }) {
    const mpi = report.per_rank.reduce((sum, { mpi_s }) => sum + mpi_s, 0);
    const all = report.per_rank.reduce((sum, { mpi_s, outside_s }) => sum + mpi_s + outside_s, 0);
    const facts: [string, string][] = [
        ['Time', seconds(report.elapsed_s)],
        [report.per_rank.length === 1 ? 'rank' : 'ranks', count(report.per_rank.length)],
        ['MPI calls', count(report.calls)],
        ['of the time of these ranks in MPI', all > 0 ? percent(mpi / all) : '–'],
    ];
    return <FactList facts={facts} />;
}
