// A frequently changing line of text: displayed immediately, announced to screen readers after a pause.

import { useDebounced } from '../state/debounce';

const DEBOUNCE_MS = 800;

export function LiveText({ class: name, text }: { class: string; text: string }) {
    const debounced = useDebounced(text, DEBOUNCE_MS);
    return (
        <>
            <p class={name} aria-hidden="true">
                {text}
            </p>
            <p class="visually-hidden" role="status">
                {debounced}
            </p>
        </>
    );
}
