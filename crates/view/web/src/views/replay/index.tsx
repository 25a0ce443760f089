// Replay view: measured times against those of a what-if replay.

import { useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import { answerSource, type QueryParams } from '../../answers/answer-source';
import type { Machine } from '../../answers/machine';
import type { ReplayResult } from '../../answers/replay';
import { QueryStatus } from '../../charts/query-status';
import { WholeRunNote } from '../../links/whole-run-note';
import { selection } from '../../state/address';
import { type CurrentRecording, currentRecording } from '../../state/current-recording';
import { useDebounced } from '../../state/debounce';
import { latestAnswer, useQuery } from '../../state/use-query';
import type { PageView } from '../view';
import { usesMachine, whatIfText } from './what-if';
import { WhatIfPanel } from './what-if-panel';
import './replay.css';
import { ResultSections } from './replay-result';
import { ReplayTimelines } from './replay-timelines';

export const replay: PageView = {
    name: 'replay',
    title: 'Replay',
    key: 'r',
    description: 'What-if replay: the same run with changed parameters.',
    isAvailable: ({ subjects }) => subjects.includes('replay'),
    Component: Show,
};

/** Debounce for dials. */
const DEBOUNCE_MS = 120;
/** Maximum number of calls for drawing timelines; with more, every change would take long. */
const MAX_CALLS = 5_000_000;

function Show({ about }: { about: About }) {
    const found = currentRecording(about);
    if (!found) return null;
    if (found.recording.profile) {
        return <p class="query-status failed">This recording is a profile: record again without --profile to replay it.</p>;
    }
    return <ReplaySections key={found.index} found={found} about={about} />;
}

function ReplaySections({ found, about }: { found: CurrentRecording; about: About }) {
    // The address may come from a session with a machine file.
    const chosen = about.subjects.includes('machine') ? selection.value.viewParams : { ...selection.value.viewParams, machine: '' };
    const wanted = JSON.stringify({ 'what-if': whatIfText(chosen) || undefined, machine: usesMachine(chosen) ? 'given' : undefined });
    const debounced = useDebounced(wanted, DEBOUNCE_MS);
    const query = useMemo(() => (answerSource.isLive ? (JSON.parse(debounced) as QueryParams) : {}), [debounced]);
    const replay = useQuery<ReplayResult>(found.index, 'replay', query);
    const last = replay.state === 'failed' ? undefined : latestAnswer(replay);
    const plain = useQuery<ReplayResult>(found.index, 'replay');
    const isBusy = answerSource.isLive && (debounced !== wanted || replay.state === 'loading' || replay.state === 'pending');
    const hasPictures = answerSource.isLive && about.subjects.includes('replayed') && found.recording.calls <= MAX_CALLS;
    const network = plain.state === 'answered' ? plain.answer.recorded_network : undefined;
    return (
        <div class="replay">
            {answerSource.isLive ? (
                <WithMachine about={about}>
                    {(machine) => (
                        <WhatIfPanel
                            chosen={chosen}
                            machine={machine}
                            network={usesMachine(chosen) ? undefined : network}
                            name={found.recording.name}
                        />
                    )}
                </WithMachine>
            ) : (
                <p class="replay-panel">This file has the replay without changes. Open the recording with `sintonia view` to change parameters.</p>
            )}
            <div aria-busy={isBusy}>
                <WholeRunNote marksRanks />
                {last ? <ResultSections replay={last} recording={found.recording} /> : <QueryStatus query={replay}>{() => null}</QueryStatus>}
                {last && hasPictures && <ReplayTimelines recording={found.index} ranks={found.recording.ranks} query={query} />}
            </div>
        </div>
    );
}

/** Queries the machine only if one was given. */
function WithMachine({ about, children }: { about: About; children: (machine: Machine | undefined) => preact.ComponentChildren }) {
    return about.subjects.includes('machine') ? <MachineQuery>{children}</MachineQuery> : children(undefined);
}

function MachineQuery({ children }: { children: (machine: Machine | undefined) => preact.ComponentChildren }) {
    const query = useQuery<Machine>(0, 'machine');
    return children(query.state === 'answered' ? query.answer : undefined);
}
