// Which keys the page may take: none that somebody types, and none that the browser has a use for.

/** What letters are written into, or has keys of its own. */
const TYPED_INTO = 'input, textarea, select, dialog, [contenteditable]';
/** Inputs that no letter is written into: they need the keys that have names, such as the arrows, and the space. */
const TURNED = 'input[type=checkbox], input[type=radio], input[type=range]';

/** Whether a key is meant for the page: no modifier is held with it, and it is not typed into anything. */
export function isOurs(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !(event.target instanceof Element)) return false;
    const taken = event.target.closest(TYPED_INTO);
    if (!taken) return true;
    return taken.matches(TURNED) && !taken.closest('dialog') && event.key.length === 1 && event.key !== ' ';
}
