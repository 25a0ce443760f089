// Interface of a view.

import type { ComponentType } from 'preact';
import type { About } from '../answers/about';

export interface PageView {
    /** Name in the address. */
    name: string;
    /** Displayed name. */
    title: string;
    /** Keyboard shortcut. */
    key: string;
    /** One sentence. */
    description: string;
    /** Whether there is data for it. */
    isAvailable: (about: About) => boolean;
    Component: ComponentType<{ about: About }>;
    /** Additional shortcuts, for the help dialog. */
    shortcuts?: [key: string, does: string][];
}
