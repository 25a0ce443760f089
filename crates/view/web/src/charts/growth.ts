// Letters of charts and canvases grow as those of the page do, on a projector for example.

/** The size of the page's letters on usual screens, in pixels: `style.css` says when they are larger. */
const USUAL = 15;

/** How many times as large as usual the page's letters are. */
export const growth = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL || 1;
