// Keys that work in every view.

import { useEffect } from 'preact/hooks';
import { go, ownOf } from '../state/address';
import type { View } from '../views/view';
import { isOurs } from './ours';
import { selectAll } from './selected';

/** The keys for the help. */
export const KEYS: [key: string, does: string][] = [
    ['?', 'this help'],
    ['x', 'select everything again'],
    ['Tab', 'go to the next control'],
];

export function useKeys(views: View[], openHelp: () => void): void {
    useEffect(() => {
        const press = (event: KeyboardEvent) => {
            if (event.defaultPrevented || !isOurs(event)) return;
            const found = views.find((one) => one.key === event.key);
            if (found) go(found.name, { own: ownOf(found.name) });
            else if (event.key === '?') openHelp();
            else if (event.key === 'x') selectAll();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, [views]);
}
