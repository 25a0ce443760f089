// Keys that work in every view.

import { useEffect } from 'preact/hooks';
import { go } from '../state/address';
import type { View } from '../views/view';
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
            const taken = event.target instanceof Element && event.target.closest('input, textarea, select, dialog, [contenteditable]');
            if (taken || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
            const found = views.find((one) => one.key === event.key);
            if (found) go(found.name);
            else if (event.key === '?') openHelp();
            else if (event.key === 'x') selectAll();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, [views]);
}
