// Scales the text in charts and canvases with the page, for example on a projector.

/** Default font size of the page; `style.css` enlarges it on large screens. */
const DEFAULT_PX = 15;

/** Current font size of the page relative to the default. */
export const fontScale = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / DEFAULT_PX || 1;
