// The overview: how well the time of a run was used, why, and what to do about it.

import type { About, Recorded } from '../../answers/about';
import type { Report } from '../../answers/report';
import { State } from '../../charts/state';
import { WholeRun } from '../../links/whole-run';
import { useAnswer } from '../../state/asked';
import { present } from '../../state/present';
import type { View } from '../view';
import { AdviceList } from './advice';
import { Causes, Path, Waits } from './causes';
import { Tree } from './efficiency';
import { Facts } from './facts';
import { Operations, Sizes } from './operations';
import './overview.css';
import type { Part } from './part';
import { Phases } from './phases';
import { Remarks } from './remarks';
import { RankTimes } from './times';

export const overview: View = {
    name: 'overview',
    title: 'Overview',
    key: 'o',
    says: 'How well the time was used, and what to do about it.',
    has: () => true,
    Show,
};

function Show({ about }: { about: About }) {
    const shown = present(about);
    return shown ? <Overview number={shown.number} recorded={shown.recorded} /> : <p>Nothing is recorded.</p>;
}

function Overview({ number, recorded }: { number: number; recorded: Recorded }) {
    const asked = useAnswer<Report>(number, 'report');
    return <State asked={asked}>{(report) => <Shown report={report} recorded={recorded} number={number} />}</State>;
}

function Shown(part: Part) {
    if (part.report.calls === 0) {
        return (
            <div class="overview">
                <Facts {...part} />
                <p>No MPI call was seen.</p>
                <Remarks {...part} />
            </div>
        );
    }
    return (
        <div class="overview">
            <WholeRun />
            <Facts {...part} />
            <div class="beside">
                <AdviceList {...part} />
                <Tree {...part} />
            </div>
            <RankTimes {...part} />
            <Waits {...part} />
            <Causes {...part} />
            <Path {...part} />
            <Phases {...part} />
            <div class="beside">
                <Operations {...part} />
                <Sizes {...part} />
            </div>
            <Remarks {...part} />
        </div>
    );
}
