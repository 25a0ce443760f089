// Placement view: the current and the proposed placement, and the saving.

import type { About } from '../../answers/about';
import type { Placement, PlacementCandidate } from '../../answers/placement';
import type { TableColumn } from '../../charts/data-table';
import { downloadFile } from '../../charts/download';
import { QueryStatus } from '../../charts/query-status';
import { TableFigure } from '../../charts/table-figure';
import { CopyButton } from '../../links/copy-button';
import { SelectRanks } from '../../links/ranks-field';
import { WholeRunNote } from '../../links/whole-run-note';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { bytes, percent, seconds } from '../../units';
import type { PageView } from '../view';
import { LinkLoads } from './link-loads';
import { PlacementChart } from './placement-chart';
import './placement.css';

export const placement: PageView = {
    name: 'placement',
    title: 'Placement',
    key: 'l',
    description: 'Current and proposed placement of ranks on hosts and cores.',
    isAvailable: ({ subjects }) => subjects.includes('placement'),
    Component: Show,
};

function Show({ about }: { about: About }) {
    const found = currentRecording(about);
    return found ? <PlacementQuery key={found.index} recording={found.index} /> : null;
}

function PlacementQuery({ recording }: { recording: number }) {
    return <QueryStatus query={useQuery<Placement>(recording, 'placement')}>{(answer) => <PlacementSections placement={answer} />}</QueryStatus>;
}

function PlacementSections({ placement }: { placement: Placement }) {
    const { hosts, slots, candidates, notes, useless } = placement;
    const isSame = slots.now.every((slot, rank) => slot === slots.placed[rank]);
    return (
        <>
            <p class={useless === null ? 'placement-verdict' : 'placement-verdict no'}>{placement.verdict}</p>
            <WholeRunNote marksRanks />
            <div class="controls">
                <SelectRanks most={slots.now.length} />
                <span class="muted">Ranks are coloured by their current host.</span>
            </div>
            <div class="placement-comparison">
                <PlacementChart title="Now" hosts={hosts} slots={slots.now} before={slots.now} />
                {!isSame && <PlacementChart title="Placed" hosts={hosts} slots={slots.placed} before={slots.now} />}
            </div>
            <LauncherFile placement={placement} />
            <LinkLoads links={placement.links} />
            <TableFigure title="Placements considered" columns={candidateColumns(candidates)} rows={candidates} rowKey={(one) => one.name} />
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

/** The launcher's input file and command line, to copy. */
function LauncherFile({ placement: { sheet, command, environment } }: { placement: Placement }) {
    if (sheet.refused !== null) return <p class="description">{sheet.refused}</p>;
    if (sheet.text === '') return null;
    const line = command && [...environment.map(([name, value]) => `${name}=${shellQuoted(value)}`), ...command.map(shellQuoted)].join(' ');
    return (
        <section class="placement-launcher-file" aria-label="How to use it">
            {line && (
                <p>
                    <code>{line}</code> <CopyButton text={() => line} what="the command" />
                </p>
            )}
            <details>
                <summary>{sheet.name}</summary>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable */}
                <pre tabIndex={0}>{sheet.text}</pre>
            </details>
            <p>
                <button type="button" onClick={() => downloadFile(sheet.text, sheet.name, 'text/plain')}>
                    Save {sheet.name}
                </button>{' '}
                <CopyButton text={() => sheet.text} what={sheet.name} />
            </p>
        </section>
    );
}

const shellQuoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function candidateColumns(candidates: PlacementCandidate[]): TableColumn<PlacementCandidate>[] {
    const replayed: TableColumn<PlacementCandidate>[] = [
        {
            name: 'replayed (s)',
            description: 'Replayed time of the run',
            value: ({ seconds }) => seconds?.[1],
            render: (one) => (one.seconds ? `${seconds(one.seconds[1])} [${seconds(one.seconds[0])}, ${seconds(one.seconds[2])}]` : '–'),
        },
    ];
    return [
        { name: 'placement', value: ({ name }) => (name === 'Sintonia' ? 'placed' : name) },
        {
            name: 'busiest link (s)',
            description: 'Busy time',
            value: (one) => one.busiest_link_s,
            render: (one) => seconds(one.busiest_link_s),
        },
        { name: 'between hosts (bytes)', value: (one) => one.across_bytes, render: (one) => bytes(one.across_bytes) },
        { name: 'bytes × distance', value: (one) => one.byte_distance, render: (one) => relative(one.byte_distance, candidates[0]?.byte_distance) },
        {
            name: 'imbalance',
            description: 'Computation time of the slowest host, relative to the mean',
            value: (one) => one.imbalance,
            render: (one) => percent(one.imbalance),
        },
        ...(candidates.some((one) => one.seconds !== null) ? replayed : []),
    ];
}

const relative = (value: number, now: number | undefined): string => (now ? percent(value / now) : String(value));
