// Shows how far a question has come, and the answer once it is there.

import type { ComponentChildren } from 'preact';
import type { Asked } from '../state/asked';
import { count } from '../units';
import './state.css';

interface Props<Answer> {
    asked: Asked<Answer>;
    children: (answer: Answer) => ComponentChildren;
}

export function State<Answer>({ asked, children }: Props<Answer>) {
    switch (asked.state) {
        case 'answered':
            return (
                <>
                    {children(asked.answer)}
                    <Cut answer={asked.answer} />
                </>
            );
        case 'waiting':
            if (asked.before !== undefined) return <div aria-busy="true">{children(asked.before)}</div>;
            return (
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
