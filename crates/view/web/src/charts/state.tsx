// Shows how far a question has come, and the answer once it is there.

import type { ComponentChildren } from 'preact';
import { type Asked, latest } from '../state/asked';
import { count } from '../units';
import './state.css';

interface Props<Answer> {
    asked: Asked<Answer>;
    /** Whether the answer before stays below a refusal: where it holds the controls that take back what was refused. */
    keeps?: boolean;
    children: (answer: Answer) => ComponentChildren;
}

/** One element however far it has come: what is drawn inside keeps its focus and what was chosen in it when another answer comes. */
export function State<Answer>({ asked, keeps = false, children }: Props<Answer>) {
    const shown = asked.state === 'refused' && !keeps ? undefined : latest(asked);
    const isBusy = shown !== undefined && (asked.state === 'waiting' || asked.state === 'working');
    return (
        <div aria-busy={isBusy}>
            <Progress asked={asked} isBusy={isBusy} />
            {shown !== undefined && children(shown)}
            {asked.state === 'answered' && <Cut answer={asked.answer} />}
        </div>
    );
}

/** What is told of a question that has no answer yet. */
function Progress<Answer>({ asked, isBusy }: { asked: Asked<Answer>; isBusy: boolean }) {
    switch (asked.state) {
        case 'answered':
            return null;
        case 'waiting':
            return isBusy ? null : (
                <p class="state" role="status">
                    Asking …
                </p>
            );
        case 'working':
            return (
                <p class="state" role="status">
                    <label>
                        {sentence(asked.doing)} … <progress value={asked.done} max={1} />
                    </label>
                </p>
            );
        case 'refused':
            return (
                <p class="state refused" role="status">
                    {sentence(asked.why)}
                </p>
            );
    }
}

/** In a file, an answer may have lost the ends of its longest lists: it says which, and how long they were. */
function Cut({ answer }: { answer: unknown }) {
    if (typeof answer !== 'object' || answer === null || !('cut' in answer) || typeof answer.cut !== 'object' || answer.cut === null) return null;
    const lists = Object.entries(answer.cut).map(([name, length]) => `${name.replaceAll('_', ' ')} (${count(Number(length))} in all)`);
    return (
        <p class="state">
            To keep this file small, the longest lists were cut: {lists.join(', ')}. Open the recording with `sintonia view` to see all.
        </p>
    );
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
