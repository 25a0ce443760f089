// What every view of the page is.

import type { ComponentType } from 'preact';
import type { About } from '../answers/about';

export interface View {
    /** Its name in the address. */
    name: string;
    /** Its name for people. */
    title: string;
    /** The key that leads to it. */
    key: string;
    /** One sentence: what it shows. */
    says: string;
    /** Whether there is something to show. */
    has: (about: About) => boolean;
    Show: ComponentType<{ about: About }>;
    /** Keys that it understands, and what they do: for the help. */
    keys?: [key: string, does: string][];
}
