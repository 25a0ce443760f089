// Keeps the page alive when a view fails: the others can still be used.

import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';

export function Guard({ children }: { children: ComponentChildren }) {
    const [error, again] = useErrorBoundary((failure) => console.error(failure));
    if (error === undefined || error === null) return <>{children}</>;
    return (
        <div class="state refused" role="alert">
            <p>This view could not be drawn: {error instanceof Error ? error.message : String(error)}</p>
            <button type="button" onClick={again}>
                Try again
            </button>
        </div>
    );
}
