// A line that changes while somebody moves about: seen at once, read out once it rests.

import { useResting } from '../state/resting';

const REST_MS = 800;

export function Said({ class: name, text }: { class: string; text: string }) {
    const rested = useResting(text, REST_MS);
    return (
        <>
            <p class={name} aria-hidden="true">
                {text}
            </p>
            <p class="unseen" role="status">
                {rested}
            </p>
        </>
    );
}
