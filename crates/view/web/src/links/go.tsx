// A link to a view with something selected: an ordinary one, so that it can be copied and opened beside.

import type { ComponentChildren } from 'preact';
import { address, type Selection, write } from '../state/address';

interface Props {
    /** The view; the present one if it is not said. */
    view?: string;
    /** What changes of the selection. */
    change: Partial<Selection>;
    title?: string;
    label?: string;
    children: ComponentChildren;
}

export function Go({ view, change, title, label, children }: Props) {
    const present = address.value;
    const own = view === undefined || view === present.view ? present.selection.own : {};
    const href = write({ view: view ?? present.view, selection: { ...present.selection, own, ...change } });
    return (
        <a href={href} title={title} aria-label={label}>
            {children}
        </a>
    );
}
