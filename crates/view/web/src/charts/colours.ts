// Resolves CSS variables: a canvas and an exported SVG cannot use them.

import { effectiveTheme } from '../state/theme';

const cache = new Map<string, string>();
let probe: HTMLElement | undefined;

/** Current value of a variable such as `--sending`, as `rgb(0, 114, 178)`. Components calling this re-render when the theme changes. */
export function cssColour(variable: string): string {
    const key = `${effectiveTheme.value} ${variable}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    if (!probe) {
        probe = document.createElement('span');
        probe.hidden = true;
        document.body.append(probe);
    }
    probe.style.color = `var(${variable})`;
    const value = getComputedStyle(probe).color;
    cache.set(key, value);
    return value;
}
