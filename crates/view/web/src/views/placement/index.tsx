// The placement: which rank is where, where it should be, and what that saves.

import type { About } from '../../answers/about';
import type { Candidate, Placement } from '../../answers/placement';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { save } from '../../charts/save';
import { State } from '../../charts/state';
import { Copy } from '../../links/copy';
import { SelectRanks } from '../../links/ranks-field';
import { WholeRun } from '../../links/whole-run';
import { useAnswer } from '../../state/asked';
import { present } from '../../state/present';
import { bytes, percent, seconds } from '../../units';
import type { View } from '../view';
import { Links } from './links';
import { Ranked } from './picture';
import './placement.css';

export const placement: View = {
    name: 'placement',
    title: 'Placement',
    key: 'l',
    says: 'Which rank is on which core of which host, and where it should be.',
    has: ({ subjects }) => subjects.includes('placement'),
    Show,
};

function Show({ about }: { about: About }) {
    const found = present(about);
    return found ? <Asked key={found.number} recording={found.number} /> : null;
}

function Asked({ recording }: { recording: number }) {
    return <State asked={useAnswer<Placement>(recording, 'placement')}>{(answer) => <Shown placement={answer} />}</State>;
}

function Shown({ placement }: { placement: Placement }) {
    const { hosts, slots, candidates, notes, useless } = placement;
    const isSame = slots.now.every((slot, rank) => slot === slots.placed[rank]);
    return (
        <>
            <p class={useless === null ? 'placement-verdict' : 'placement-verdict no'}>{placement.verdict}</p>
            <WholeRun marksRanks />
            <div class="controls">
                <SelectRanks most={slots.now.length} />
                <span class="quiet">A rank has the colour of the host that it is on now.</span>
            </div>
            <div class="placement-both">
                <Ranked title="Now" hosts={hosts} slots={slots.now} before={slots.now} />
                {!isSame && <Ranked title="Placed" hosts={hosts} slots={slots.placed} before={slots.now} />}
            </div>
            <Sheet placement={placement} />
            <Links links={placement.links} />
            <ListFigure title="Placements that were looked at" columns={columns(candidates)} rows={candidates} name={(one) => one.name} />
            {notes.length > 0 && (
                <ul>
                    {notes.map((note) => (
                        <li key={note}>{note}</li>
                    ))}
                </ul>
            )}
        </>
    );
}

/** The file for the launcher and the command that uses it, to copy. */
function Sheet({ placement: { sheet, command, environment } }: { placement: Placement }) {
    if (sheet.refused !== null) return <p class="says">{sheet.refused}</p>;
    if (sheet.text === '') return null;
    const line = command && [...environment.map(([name, value]) => `${name}=${quoted(value)}`), ...command.map(quoted)].join(' ');
    return (
        <section class="placement-sheet" aria-label="How to use it">
            {line && (
                <p>
                    <code>{line}</code> <Copy text={() => line} what="the command" />
                </p>
            )}
            <details>
                <summary>{sheet.name}</summary>
                <pre tabIndex={0}>{sheet.text}</pre>
            </details>
            <p>
                <button type="button" onClick={() => save(sheet.text, sheet.name, 'text/plain')}>
                    Save {sheet.name}
                </button>{' '}
                <Copy text={() => sheet.text} what={sheet.name} />
            </p>
        </section>
    );
}

/** A word as a shell takes it. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function columns(candidates: Candidate[]): Column<Candidate>[] {
    const replayed: Column<Candidate>[] = [
        {
            name: 'replayed (s)',
            says: 'The replayed time of the run',
            value: ({ seconds }) => seconds?.[1],
            show: (one) => (one.seconds ? `${seconds(one.seconds[1])} [${seconds(one.seconds[0])}, ${seconds(one.seconds[2])}]` : '–'),
        },
    ];
    return [
        { name: 'placement', value: ({ name }) => (name === 'Sintonia' ? 'placed' : name) },
        { name: 'busiest link (s)', says: 'How long it is busy', value: (one) => one.busiest_link_s, show: (one) => seconds(one.busiest_link_s) },
        { name: 'between hosts (bytes)', value: (one) => one.across_bytes, show: (one) => bytes(one.across_bytes) },
        { name: 'bytes × distance', value: (one) => one.byte_distance, show: (one) => relative(one.byte_distance, candidates[0]?.byte_distance) },
        {
            name: 'imbalance',
            says: 'How much longer than the mean the slowest host computes',
            value: (one) => one.imbalance,
            show: (one) => percent(one.imbalance),
        },
        ...(candidates.some((one) => one.seconds !== null) ? replayed : []),
    ];
}

const relative = (value: number, now: number | undefined): string => (now ? percent(value / now) : String(value));
