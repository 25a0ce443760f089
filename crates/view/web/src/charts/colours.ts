// Colours of style.css as values: a canvas and a saved picture cannot use variables.

import { look } from '../state/theme';

const found = new Map<string, string>();
let probe: HTMLElement | undefined;

/** The present value of a variable such as `--sending`, as `rgb(0, 114, 178)`. A component that calls it is drawn again when the theme changes. */
export function colour(variable: string): string {
    const key = `${look.value} ${variable}`;
    const known = found.get(key);
    if (known !== undefined) return known;
    if (!probe) {
        probe = document.createElement('span');
        probe.hidden = true;
        document.body.append(probe);
    }
    probe.style.color = `var(${variable})`;
    const value = getComputedStyle(probe).color;
    found.set(key, value);
    return value;
}
