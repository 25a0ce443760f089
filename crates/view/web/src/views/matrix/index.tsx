// The communication matrix: who sends how much to whom.

import type { About, Recorded } from '../../answers/about';
import type { Communication } from '../../answers/communication';
import { Choice } from '../../charts/choice';
import { State } from '../../charts/state';
import { WholeRun } from '../../links/whole-run';
import { selection, setOwn } from '../../state/address';
import { useAnswer } from '../../state/asked';
import { present } from '../../state/present';
import type { View } from '../view';
import './matrix.css';
import { Shown } from './shown';

export const matrix: View = {
    name: 'matrix',
    title: 'Matrix',
    key: 'm',
    says: 'Who sends how much to whom.',
    has: (about) => about.subjects.includes('communication'),
    Show,
    keys: [
        ['← → ↑ ↓', 'in the matrix: go from cell to cell'],
        ['Enter, click', 'select the ranks of a cell'],
        ['+ −, wheel', 'zoom'],
        ['0', 'the whole matrix'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = present(about);
    return shown ? <Asked about={about} number={shown.number} recorded={shown.recorded} /> : <p>Nothing is recorded.</p>;
}

const GROUPS = ['rank', 'host', 'role'] as const;

function Asked({ about, number, recorded }: { about: About; number: number; recorded: Recorded }) {
    const { own } = selection.value;
    const offered = { rank: true, host: recorded.hosts.length > 1, role: about.subjects.includes('program') && !recorded.profile };
    const groups = GROUPS.filter((by) => offered[by]);
    const by = groups.find((one) => one === own.by) ?? 'rank';
    const without = own.collectives === '0';
    const chooseBy = (next: string) => {
        // The window is one of other labels.
        setOwn('window', '');
        setOwn('by', next === 'rank' ? '' : next);
    };
    return (
        <>
            <WholeRun marksRanks />
            <div class="controls">
                <Choice label="By" values={groups} value={by} choose={chooseBy} />
                <label>
                    <input
                        type="checkbox"
                        checked={!without}
                        onChange={(event) => setOwn('collectives', event.currentTarget.checked ? '' : '0')}
                    />{' '}
                    with collectives, as a usual algorithm sends them
                </label>
            </div>
            {/* The answer for one kind of label is never shown as that for another. */}
            <Answered key={by} number={number} recorded={recorded} by={by} without={without} />
        </>
    );
}

interface AnsweredProps {
    number: number;
    recorded: Recorded;
    by: string;
    /** Whether collectives are left out. */
    without: boolean;
}

function Answered({ number, recorded, by, without }: AnsweredProps) {
    const asked = useAnswer<Communication>(number, 'communication', { by: by === 'rank' ? undefined : by, collectives: without ? 0 : undefined });
    return <State asked={asked}>{(answer) => <Shown answer={answer} recorded={recorded} by={by} />}</State>;
}
