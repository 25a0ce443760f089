// Light or dark: as the system is, unless the reader chose; the choice is kept in the browser.

import { computed, effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: Theme[] = ['system', 'light', 'dark'];

const KEY = 'sintonia-theme';
const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(darkSystem.matches);
darkSystem.addEventListener('change', () => {
    systemIsDark.value = darkSystem.matches;
});

const chosen = signal<Theme>(kept());
apply(chosen.value);

/** What the reader chose. */
export const theme = computed(() => chosen.value);

/** What it comes to: whoever draws with colours of their own reads this, and draws again when it changes. */
export const look = computed<'light' | 'dark'>(() => (chosen.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : chosen.value));

// Styles that `light-dark()` cannot tell apart, such as filters, go by this.
effect(() => {
    document.documentElement.dataset.look = look.value;
});

export function choose(next: Theme): void {
    try {
        localStorage.setItem(KEY, next);
    } catch {
        // A browser may forbid it, for a page opened from a file for example: then the choice holds until the page is closed.
    }
    apply(next);
    chosen.value = next;
}

function kept(): Theme {
    try {
        const value = localStorage.getItem(KEY);
        return THEMES.find((one) => one === value) ?? 'system';
    } catch {
        return 'system';
    }
}

function apply(next: Theme): void {
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
}
