// The key `/`, which moves to the search field of a view.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isPageShortcut } from './page-shortcut';

/** The input element that the key moves to. */
export function useSearchShortcut(): RefObject<HTMLInputElement | null> {
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const onKeyDown = (event: KeyboardEvent) => {
            if (event.key !== '/' || !isPageShortcut(event)) return;
            event.preventDefault();
            input.current?.focus();
        };
        addEventListener('keydown', onKeyDown);
        return () => removeEventListener('keydown', onKeyDown);
    }, []);
    return input;
}
