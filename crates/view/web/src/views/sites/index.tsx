// Call sites: which lines of the program call MPI, what that costs, and the source beside it.

import { useMemo } from 'preact/hooks';
import type { About, Recorded } from '../../answers/about';
import type { Report } from '../../answers/report';
import { State } from '../../charts/state';
import { WholeRun } from '../../links/whole-run';
import { selection } from '../../state/address';
import { useAnswer } from '../../state/asked';
import { present } from '../../state/present';
import type { View } from '../view';
import { callSites } from './call-sites';
import { SourceBeside } from './source-beside';
import { SiteTable } from './table';
import './sites.css';

export const sites: View = {
    name: 'sites',
    title: 'Call sites',
    key: 'c',
    says: 'Which lines of the program call MPI, and what that costs.',
    has: (about) => about.subjects.includes('report'),
    Show,
    keys: [
        ['↑ ↓', 'in the table: select the call site before or after'],
        ['Home End', 'select the first, the last'],
        ['Enter', 'show the selected one on the timeline'],
        ['/', 'filter'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = present(about);
    return shown ? <Sites number={shown.number} recorded={shown.recorded} /> : <p>Nothing is recorded.</p>;
}

function Sites({ number, recorded }: { number: number; recorded: Recorded }) {
    const asked = useAnswer<Report>(number, 'report');
    return <State asked={asked}>{(report) => <Shown number={number} recorded={recorded} report={report} />}</State>;
}

function Shown({ number, recorded, report }: { number: number; recorded: Recorded; report: Report }) {
    const all = useMemo(() => callSites(report, recorded), [report, recorded]);
    const { site } = selection.value;
    return (
        <>
            <WholeRun />
            <div class="sites">
                <SiteTable all={all} recorded={recorded} hasWaits={!report.profile} />
                <SourceBeside number={number} recorded={recorded} site={site} />
            </div>
        </>
    );
}
