// How quick the page is and how much memory it takes, in Chromium: `node bench/view/page.mjs ADDRESS` prints JSON.
//
// The timeline is opened, and zoomed with the wheel at several places from the whole run to single calls. Then every other view is opened, and the
// timeline again. The memory is what the page's process has to itself, and what of it are JavaScript's objects.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../../crates/view/web/package.json', import.meta.url))('playwright-core');
const PLACES = [0.2, 0.4, 0.6, 0.8];
const STEPS = 40;
/** A step that takes longer is given up: it counts as that long. */
const PATIENCE_MS = 10_000;

const address = process.argv[2];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const canvas = page.locator('.timeline-canvas');
    const since = performance.now();
    await page.goto(`${address}#timeline`);
    await settled(page);
    const first_picture_s = (performance.now() - since) / 1e3;
    const steps = [];
    for (const place of PLACES) {
        await page.getByRole('button', { name: 'Whole run' }).click();
        await settled(page);
        steps.push(...(await canvas.evaluate(zoom, { place, steps: STEPS, patience: PATIENCE_MS })));
    }
    const after_timeline = await memory(browser, page);
    const views = await page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    for (const view of [...views, '#timeline']) {
        await page.evaluate((hash) => (location.hash = hash), view);
        await page.waitForTimeout(1500);
    }
    await settled(page);
    console.log(JSON.stringify({ first_picture_s, steps, after_timeline, after_all: await memory(browser, page) }));
} finally {
    await browser.close();
}

/** Waits until the window is drawn as finely as it can be. */
async function settled(page) {
    await page.waitForFunction(() => document.querySelector('.timeline-canvas')?.dataset.settled === 'true', null, { timeout: 600_000 });
}

/** Turns the wheel at a place of the picture, each time when the last step is drawn; seconds until something and until everything was drawn. */
async function zoom(canvas, { place, steps, patience }) {
    const box = canvas.getBoundingClientRect();
    const taken = [];
    for (let step = 0; step < steps; step++) {
        const before = canvas.dataset.drawn;
        const since = performance.now();
        const wheel = { deltaY: -300, clientX: box.left + place * box.width, clientY: box.top + 60, bubbles: true, cancelable: true };
        canvas.dispatchEvent(new WheelEvent('wheel', wheel));
        const passed = () => performance.now() - since;
        let first;
        while (passed() < patience && (first === undefined || canvas.dataset.settled !== 'true')) {
            await new Promise((done) => setTimeout(done, 1));
            if (canvas.dataset.drawn !== before) first ??= passed();
            // Nothing is finer than a nanosecond: then the window stays.
            if (first === undefined && passed() > 500) return taken;
        }
        taken.push({ first_s: (first ?? passed()) / 1e3, all_s: passed() / 1e3 });
    }
    return taken;
}

/** Bytes of JavaScript's objects, after a collection, and those that the page's process shares with nobody. */
async function memory(browser, page) {
    const here = await page.context().newCDPSession(page);
    await here.send('HeapProfiler.collectGarbage');
    const { usedSize } = await here.send('Runtime.getHeapUsage');
    const all = await browser.newBrowserCDPSession();
    const { processInfo } = await all.send('SystemInfo.getProcessInfo');
    const renderers = processInfo.filter((one) => one.type === 'renderer');
    const own = await Promise.all(renderers.map((one) => privateBytes(one.id)));
    return { heap_bytes: usedSize, private_bytes: Math.max(...own) };
}

async function privateBytes(process) {
    const text = await readFile(`/proc/${process}/smaps_rollup`, 'utf8');
    return [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, [, kilobytes]) => sum + 1024 * Number(kilobytes), 0);
}
