// Builds the page as a single HTML file with inline script and style, so that it needs no network.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const built = await build({
    entryPoints: ['src/main.tsx'],
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    outdir: 'dist',
});
const text = (ending) => built.outputFiles.find((file) => file.path.endsWith(ending))?.text ?? '';
// The script must not contain its own end tag.
const script = text('.js').replaceAll('</script', '<\\/script');
const style = text('.css');
const hash = createHash('sha256').update(script).digest('base64');
const template = await readFile('page.html', 'utf8');
const page = template
    .replace('SCRIPT_HASH', () => hash)
    .replace('/*STYLE*/', () => style)
    .replace('/*SCRIPT*/', () => script);
await mkdir('dist', { recursive: true });
await writeFile('dist/page.html.new', page);
await rename('dist/page.html.new', 'dist/page.html');
console.log(`dist/page.html: ${Math.round(page.length / 1024)} KiB`);
