// The replay: what was measured against what would be, with something changed.

import { useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import type { Machine } from '../../answers/machine';
import type { Replayed } from '../../answers/replay';
import { type Query, source } from '../../answers/source';
import { State } from '../../charts/state';
import { WholeRun } from '../../links/whole-run';
import { selection } from '../../state/address';
import { latest, useAnswer } from '../../state/asked';
import { type Present, present } from '../../state/present';
import { useResting } from '../../state/resting';
import type { View } from '../view';
import { onMachine, told } from './changes';
import { Panel } from './panel';
import './replay.css';
import { Result } from './result';
import { Timelines } from './timelines';

export const replay: View = {
    name: 'replay',
    title: 'Replay',
    key: 'r',
    says: 'The same run with something changed: turn a dial, and it is replayed.',
    has: ({ subjects }) => subjects.includes('replay'),
    Show,
};

/** How long a dial must rest before the run is replayed. */
const REST_MS = 120;
/** Pictures are made for runs of at most so many calls: for more, every turn of a dial would take long. */
const MOST_CALLS = 5_000_000;

function Show({ about }: { about: About }) {
    const found = present(about);
    if (!found) return null;
    if (found.recorded.profile) {
        return <p class="state refused">Only sums were kept of this run (record --profile): record it again without, to replay it.</p>;
    }
    return <Live key={found.number} found={found} about={about} />;
}

function Live({ found, about }: { found: Present; about: About }) {
    // An address may come from where a machine was given.
    const chosen = about.subjects.includes('machine') ? selection.value.own : { ...selection.value.own, machine: '' };
    const wanted = JSON.stringify({ 'what-if': told(chosen) || undefined, machine: onMachine(chosen) ? 'given' : undefined });
    const rested = useResting(wanted, REST_MS);
    const query = useMemo(() => (source.live ? (JSON.parse(rested) as Query) : {}), [rested]);
    const asked = useAnswer<Replayed>(found.number, 'replay', query);
    const last = asked.state === 'refused' ? undefined : latest(asked);
    const plain = useAnswer<Replayed>(found.number, 'replay');
    const isBusy = source.live && (rested !== wanted || asked.state === 'waiting' || asked.state === 'working');
    const hasPictures = source.live && about.subjects.includes('replayed') && found.recorded.calls <= MOST_CALLS;
    const network = plain.state === 'answered' ? plain.answer.recorded_network : undefined;
    return (
        <div class="replay">
            {source.live ? (
                <WithMachine about={about}>
                    {(machine) => (
                        <Panel chosen={chosen} machine={machine} network={onMachine(chosen) ? undefined : network} name={found.recorded.name} />
                    )}
                </WithMachine>
            ) : (
                <p class="replay-panel">
                    This file holds the replay with nothing changed. Open the recording with `sintonia view` to change something.
                </p>
            )}
            <div aria-busy={isBusy}>
                <WholeRun marksRanks />
                {last ? <Result replayed={last} recorded={found.recorded} /> : <State asked={asked}>{() => null}</State>}
                {last && hasPictures && <Timelines recording={found.number} ranks={found.recorded.ranks} query={query} />}
            </div>
        </div>
    );
}

/** The machine that was given is only asked for where there is one. */
function WithMachine({ about, children }: { about: About; children: (machine: Machine | undefined) => preact.ComponentChildren }) {
    return about.subjects.includes('machine') ? <Asking>{children}</Asking> : <>{children(undefined)}</>;
}

function Asking({ children }: { children: (machine: Machine | undefined) => preact.ComponentChildren }) {
    const asked = useAnswer<Machine>(0, 'machine');
    return <>{children(asked.state === 'answered' ? asked.answer : undefined)}</>;
}
