// Shortcuts that work in every view.

import { useEffect } from 'preact/hooks';
import { navigate, paramsOfView } from '../state/address';
import type { PageView } from '../views/view';
import { isPageShortcut } from './page-shortcut';
import { clearSelection } from './selection-bar';

/** For the help dialog. */
export const SHORTCUTS: [key: string, does: string][] = [
    ['?', 'this help'],
    ['x', 'clear the selection'],
    ['Tab', 'go to the next control'],
];

export function useShortcuts(views: PageView[], openHelp: () => void): void {
    useEffect(() => {
        const onKeyDown = (event: KeyboardEvent) => {
            if (event.defaultPrevented || !isPageShortcut(event)) return;
            const found = views.find((one) => one.key === event.key);
            if (found) navigate(found.name, { viewParams: paramsOfView(found.name) });
            else if (event.key === '?') openHelp();
            else if (event.key === 'x') clearSelection();
        };
        addEventListener('keydown', onKeyDown);
        return () => removeEventListener('keydown', onKeyDown);
    }, [views]);
}
