// What is in the window: each kind of activity with its colour and its share, as a table that also shows and hides them.

import { source } from '../../answers/source';
import { percent, plural } from '../../units';
import type { Control } from './control';
import { best, lanesOf, shares } from './scene';

const SAYS: Record<string, string> = {
    absent: 'before MPI_Init and after MPI_Finalize',
    computing: 'outside MPI; of a rank with several threads, the first of them',
    sending: 'point to point',
    receiving: 'point to point',
    completing: 'Wait, Test, Probe',
    collective: 'collectives and communicators',
    'one-sided': 'windows',
    files: 'MPI-IO',
    other: 'everything else in MPI',
};

export function Kinds({ control }: { control: Control }) {
    const { pictures, span, rows, calls } = control.scene.value;
    const hasThreads = calls !== undefined && [...lanesOf(calls).values()].some((lanes) => lanes > 1);
    const picture = best(pictures, span);
    if (!picture) return null;
    const found = shares(picture, span);
    const part = (share: number | undefined) => (share === undefined ? '' : percent(share));
    const lacking = control.asking.awaits.value ? '…' : '–';
    return (
        <table class="timeline-kinds">
            <caption>
                In the window, of {hasThreads ? 'the first threads of ' : ''}
                {plural(rows.length, 'row')}
            </caption>
            <thead class="unseen">
                <tr>
                    <th scope="col">activity</th>
                    <th scope="col">share of the time</th>
                </tr>
            </thead>
            <tbody>
                {picture.kinds.map((kind, at) => (
                    <Line
                        key={kind}
                        name={kind}
                        says={SAYS[kind]}
                        share={part(found.kinds[at])}
                        on={!control.off.value.has(kind)}
                        onToggle={() => control.toggle('off', kind)}
                    />
                ))}
                {found.mixed > 0.0005 && (
                    <tr title="Several activities fell into the same cells: what is not the largest of its cell is counted here">
                        <th scope="row" class="plain">
                            finer than a cell
                        </th>
                        <td>{part(found.mixed)}</td>
                    </tr>
                )}
            </tbody>
            <tbody>
                <Line
                    name="waiting"
                    says={picture.waiting ? 'for other ranks' : control.asking.lacks.value}
                    share={found.waiting === undefined ? lacking : part(found.waiting)}
                    on={!control.hidden.value.has('waiting')}
                    onToggle={() => control.toggle('hide', 'waiting')}
                />
                <Line
                    name="path"
                    title="critical path"
                    says={picture.path ? 'what the run’s length depends on' : control.asking.lacks.value}
                    share={found.path === undefined ? lacking : part(found.path)}
                    on={!control.hidden.value.has('path')}
                    onToggle={() => control.toggle('hide', 'path')}
                />
                {source.live && (
                    <Line
                        name="messages"
                        says="arrows, where they are few"
                        share={typeof picture.messages === 'number' ? String(picture.messages) : (picture.messages ?? '')}
                        on={!control.hidden.value.has('messages')}
                        onToggle={() => control.toggle('hide', 'messages')}
                    />
                )}
            </tbody>
        </table>
    );
}

interface LineProps {
    name: string;
    title?: string;
    says: string | undefined;
    share: string;
    on: boolean;
    onToggle: () => void;
}

function Line({ name, title = name, says, share, on, onToggle }: LineProps) {
    return (
        <tr>
            <th scope="row">
                <button type="button" aria-pressed={on} title={says} onClick={onToggle}>
                    <span class={`mark ${name}`} style={{ background: name === 'messages' || name === 'absent' ? undefined : `var(--${name})` }} />
                    {title}
                </button>
            </th>
            <td>{share}</td>
        </tr>
    );
}
