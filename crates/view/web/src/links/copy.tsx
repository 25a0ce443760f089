// A button that copies a text, and says that it did.

import { useState } from 'preact/hooks';

const SAID_MS = 2000;

interface Props {
    /** What to copy, as it is when the button is pressed. */
    text: () => string;
    /** What it is, after `Copy`. */
    what: string;
    /** What stands on the button. */
    label?: string;
}

export function Copy({ text, what, label = 'Copy' }: Props) {
    const [copied, setCopied] = useState(false);
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text());
            setCopied(true);
            setTimeout(() => setCopied(false), SAID_MS);
        } catch {
            // Not every browser lets a page write there: then it can be copied by hand.
            prompt(`Copy ${what}`, text());
        }
    };
    return (
        <button type="button" onClick={() => void copy()} aria-label={`Copy ${what}`}>
            <span aria-live="polite">{copied ? 'Copied' : label}</span>
        </button>
    );
}
