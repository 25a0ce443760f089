// Tells the page's keyboard shortcuts from text input and browser shortcuts.

/** Elements that take text input or have keys of their own. */
const TEXT_CONTROLS = 'input, textarea, select, dialog, [contenteditable]';
/** Inputs that take no text. They need named keys, such as the arrows, and the space bar. */
const NON_TEXT_INPUTS = 'input[type=checkbox], input[type=radio], input[type=range]';

/** Whether a key press is for the page: no modifier, and not typed into a control. */
export function isPageShortcut(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !(event.target instanceof Element)) return false;
    const taken = event.target.closest(TEXT_CONTROLS);
    if (!taken) return true;
    return taken.matches(NON_TEXT_INPUTS) && !taken.closest('dialog') && event.key.length === 1 && event.key !== ' ';
}
