// Loads modules of the page for tests without a browser.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Bundles and imports a module of `src`. */
export async function load(path) {
    const entry = fileURLToPath(new URL(`../src/${path}`, import.meta.url));
    const built = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false });
    return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString('base64')}`);
}
