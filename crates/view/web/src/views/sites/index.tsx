// Call site view: where the program calls MPI, at what cost, with the source beside it.

import { useMemo } from 'preact/hooks';
import type { About, RecordingSummary } from '../../answers/about';
import type { Report } from '../../answers/report';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { selection } from '../../state/address';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import type { PageView } from '../view';
import { callSiteRows } from './call-sites';
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

function Sites({ number, recording }: { number: number; recording: RecordingSummary }) {
    const query = useQuery<Report>(number, 'report');
    return <QueryStatus query={query}>{(report) => <CallSiteSections number={number} recording={recording} report={report} />}</QueryStatus>;
}

function CallSiteSections({ number, recording, report }: { number: number; recording: RecordingSummary; report: Report }) {
    const all = useMemo(() => callSiteRows(report, recording), [report, recording]);
    const { site } = selection.value;
    return (
        <>
            <WholeRunNote />
            <div class="sites">
                <SiteTable all={all} recording={recording} hasWaits={!report.profile} />
                <SourcePanel number={number} recording={recording} site={site} />
            </div>
        </>
    );
}
