// A button that copies a text and confirms it.

import { useState } from 'preact/hooks';

const FEEDBACK_MS = 2000;

interface Props {
    /** The text to copy, evaluated on click. */
    text: () => string;
    /** What is copied, as in "Copy link". */
    what: string;
    /** Text of the button. */
    label?: string;
}

export function CopyButton({ text, what, label = 'Copy' }: Props) {
    const [copied, setCopied] = useState(false);
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text());
            setCopied(true);
            setTimeout(() => setCopied(false), FEEDBACK_MS);
        } catch {
            // Without access to the clipboard, let the user copy by hand.
            prompt(`Copy ${what}`, text());
        }
    };
    return (
        <button type="button" onClick={() => void copy()} aria-label={`Copy ${what}`}>
            <span aria-live="polite">{copied ? 'Copied' : label}</span>
        </button>
    );
}
