// Light or dark theme: the system's by default, or the user's choice, stored in the browser.

import { computed, effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: Theme[] = ['system', 'light', 'dark'];

const KEY = 'sintonia-theme';
const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(darkSystem.matches);
darkSystem.addEventListener('change', () => {
    systemIsDark.value = darkSystem.matches;
});

const chosenTheme = signal<Theme>(storedTheme());
applyTheme(chosenTheme.value);

/** The user's choice. */
export const theme = computed(() => chosenTheme.value);

/** The theme in effect. Components that draw with resolved colours depend on it. */
export const effectiveTheme = computed<'light' | 'dark'>(() =>
    chosenTheme.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : chosenTheme.value,
);

// For styles that `light-dark()` does not support, such as filters.
effect(() => {
    document.documentElement.dataset.effectiveTheme = effectiveTheme.value;
});

export function setTheme(next: Theme): void {
    try {
        localStorage.setItem(KEY, next);
    } catch {
        // Storage may be blocked, for example for a page opened from a file. The choice then lasts until the page is closed.
    }
    applyTheme(next);
    chosenTheme.value = next;
}

function storedTheme(): Theme {
    try {
        const value = localStorage.getItem(KEY);
        return THEMES.find((one) => one === value) ?? 'system';
    } catch {
        return 'system';
    }
}

function applyTheme(next: Theme): void {
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
}
