// Matrix view: traffic between ranks, hosts or roles.

import type { About, RecordingSummary } from '../../answers/about';
import type { CommunicationMatrix } from '../../answers/communication';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { selection, setViewParam } from '../../state/address';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { hasSums, selectedPart } from '../../state/use-sums';
import type { PageView } from '../view';
import './matrix.css';
import { MatrixChart } from './matrix-chart';

export const matrix: PageView = {
    name: 'matrix',
    title: 'Matrix',
    key: 'm',
    description: 'Traffic between ranks, hosts or roles.',
    isAvailable: (about) => about.subjects.includes('communication'),
    Component: Show,
    shortcuts: [
        ['← → ↑ ↓', 'in the matrix: move between cells'],
        ['Enter, click', 'select the ranks of a cell'],
        ['+ −, wheel', 'zoom'],
        ['0', 'the whole matrix'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = currentRecording(about);
    return shown ? <MatrixControls about={about} number={shown.index} recording={shown.recording} /> : <p>There is no recording.</p>;
}

const GROUPS = ['rank', 'host', 'role'] as const;

function MatrixControls({ about, number, recording }: { about: About; number: number; recording: RecordingSummary }) {
    const { viewParams } = selection.value;
    const offered = { rank: true, host: recording.hosts.length > 1, role: about.subjects.includes('program') && !recording.profile };
    const groups = GROUPS.filter((by) => offered[by]);
    const by = groups.find((one) => one === viewParams.by) ?? 'rank';
    const without = viewParams.collectives === '0';
    const isPart = hasSums(recording) && selectedPart(selection.value, recording.ranks)?.from !== undefined;
    const chooseBy = (next: string) => {
        // The window only applies to the current labels.
        setViewParam('window', '');
        setViewParam('by', next === 'rank' ? '' : next);
    };
    return (
        <>
            {isPart ? (
                <p class="muted">These figures cover the selected time; a message counts where its send begins.</p>
            ) : (
                <WholeRunNote marksRanks />
            )}
            <div class="controls">
                <ChoiceButtons label="By" values={groups} value={by} choose={chooseBy} />
                <label>
                    <input
                        type="checkbox"
                        checked={!without}
                        onChange={(event) => setViewParam('collectives', event.currentTarget.checked ? '' : '0')}
                    />{' '}
                    include collectives, as the messages of the MPI library
                </label>
            </div>
            {/* Remount, so that the answer for another grouping is not shown. */}
            <MatrixQuery key={by} number={number} recording={recording} by={by} withoutCollectives={without} />
        </>
    );
}

interface MatrixQueryProps {
    number: number;
    recording: RecordingSummary;
    by: string;
    withoutCollectives: boolean;
}

function MatrixQuery({ number, recording, by, withoutCollectives }: MatrixQueryProps) {
    const { from, to } = (hasSums(recording) && selectedPart(selection.value, recording.ranks)) || {};
    const query = useQuery<CommunicationMatrix>(number, 'communication', {
        by: by === 'rank' ? undefined : by,
        collectives: withoutCollectives ? 0 : undefined,
        from,
        to,
    });
    return <QueryStatus query={query}>{(answer) => <MatrixChart answer={answer} recording={recording} by={by} />}</QueryStatus>;
}
