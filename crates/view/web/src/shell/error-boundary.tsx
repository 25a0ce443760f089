// Confines the failure of a view, so that the others remain usable.

import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';

export function ErrorBoundary({ children }: { children: ComponentChildren }) {
    const [error, again] = useErrorBoundary((failure) => console.error(failure));
    if (error === undefined || error === null) return <>{children}</>;
    return (
        <div class="query-status failed" role="alert">
            <p>This view could not be drawn: {error instanceof Error ? error.message : String(error)}</p>
            <button type="button" onClick={again}>
                Try again
            </button>
        </div>
    );
}
