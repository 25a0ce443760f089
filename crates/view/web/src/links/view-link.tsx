// A link to a view with a selection. A plain link, so it can be copied or opened in a new tab.

import type { ComponentChildren } from 'preact';
import { address, formatHash, type Selection } from '../state/address';

interface Props {
    /** The current view by default. */
    view?: string;
    /** Changes to the selection. */
    change: Partial<Selection>;
    title?: string;
    label?: string;
    children: ComponentChildren;
}

export function ViewLink({ view, change, title, label, children }: Props) {
    const current = address.value;
    const viewParams = view === undefined || view === current.view ? current.selection.viewParams : {};
    const href = formatHash({ view: view ?? current.view, selection: { ...current.selection, viewParams, ...change } });
    return (
        <a href={href} title={title} aria-label={label}>
            {children}
        </a>
    );
}
