// Call site view: where the program calls MPI, at what cost, with the source beside it.

import { useMemo } from 'preact/hooks';
import type { About, RecordingSummary } from '../../answers/about';
import type { QueryParams } from '../../answers/answer-source';
import type { Report } from '../../answers/report';
import { selectionReport } from '../../answers/sums';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { selection } from '../../state/address';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { hasSums, selectedPart, useSums } from '../../state/use-sums';
import type { PageView } from '../view';
import { callSiteRows, type SiteReport } from './call-sites';
import { SiteTable } from './site-table';
import { SourcePanel } from './source-panel';
import './sites.css';

export const sites: PageView = {
    name: 'sites',
    title: 'Call sites',
    key: 'c',
    description: 'Where the program calls MPI, and at what cost.',
    isAvailable: (about) => about.subjects.includes('report'),
    Component: Show,
    shortcuts: [
        ['↑ ↓', 'in the table: select the previous or next call site'],
        ['Home End', 'select the first or last one'],
        ['Enter', 'show the selected one on the timeline'],
        ['/', 'filter'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = currentRecording(about);
    return shown ? <Sites number={shown.index} recording={shown.recording} /> : <p>There is no recording.</p>;
}

interface Props {
    number: number;
    recording: RecordingSummary;
}

function Sites(shown: Props) {
    const part = hasSums(shown.recording) ? selectedPart(selection.value, shown.recording.ranks) : undefined;
    return part ? <SelectedSites {...shown} part={part} /> : <AllSites {...shown} />;
}

function AllSites({ number, recording }: Props) {
    const query = useQuery<Report>(number, 'report');
    return (
        <QueryStatus query={query}>
            {(report) => <CallSiteSections number={number} recording={recording} report={report} hasWaits={!report.profile} />}
        </QueryStatus>
    );
}

function SelectedSites({ number, recording, part }: Props & { part: QueryParams }) {
    const query = useSums(number, part);
    return (
        <QueryStatus query={query}>
            {(sums) => {
                const report = selectionReport(sums, recording);
                return <CallSiteSections number={number} recording={recording} report={report} hasWaits={report.hasWaits} isPart />;
            }}
        </QueryStatus>
    );
}

interface SectionProps extends Props {
    report: SiteReport;
    hasWaits: boolean;
    /** Whether the figures are those of the selection. */
    isPart?: boolean;
}

function CallSiteSections({ number, recording, report, hasWaits, isPart = false }: SectionProps) {
    const all = useMemo(() => callSiteRows(report, recording), [report, recording]);
    const { site } = selection.value;
    return (
        <>
            {isPart ? <p class="muted">These figures cover the selected time and ranks.</p> : <WholeRunNote />}
            <div class="sites">
                <SiteTable all={all} recording={recording} hasWaits={hasWaits} />
                <SourcePanel number={number} recording={recording} site={site} />
            </div>
        </>
    );
}
