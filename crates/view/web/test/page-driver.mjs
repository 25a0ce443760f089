// Drives the page in a browser, collects its errors, and checks what every view must fulfil.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareScreenshot } from './screenshot.mjs';

/** Idle time without queries; longer than the retry intervals and debounce delays of the page. */
const QUIET_MS = 300;
const SIZE = { width: 1280, height: 800 };
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs in the page: tracks open queries and the time of the last one. */
function trackQueries() {
    const queries = { open: new Map(), last: 0 };
    const ask = window.fetch;
    window.openQueries = queries;
    window.fetch = async (address, options) => {
        const query = Symbol();
        queries.open.set(query, address);
        queries.last = performance.now();
        try {
            return await ask(address, options);
        } finally {
            queries.open.delete(query);
            queries.last = performance.now();
        }
    };
}

/** Runs in the page: whether no query is open or pending. */
function isIdle(quiet) {
    const { open, last } = window.openQueries;
    const isWorking = () => document.querySelector('progress, [aria-busy=true]') || /Loading …|Opening …/.test(document.body.innerText);
    return open.size === 0 && performance.now() - last > quiet && !isWorking();
}

export class PageDriver {
    /** Errors reported by the page. */
    errors = [];

    /** @param {import('playwright-core').Browser} browser @param {string} address */
    static async open(browser, address) {
        const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
        const driver = new PageDriver(page, address);
        page.on('console', (message) => {
            // A 404 of the API is a regular answer, though the browser logs it as an error.
            const refused = /status of 404/.test(message.text()) && /\/api\//.test(message.location().url);
            if (['error', 'warning'].includes(message.type()) && !refused) driver.errors.push(`${message.type()}: ${message.text()}`);
        });
        page.on('pageerror', (error) => driver.errors.push(`exception: ${error.stack ?? error.message}`));
        page.on('dialog', (dialog) => {
            driver.errors.push(`a dialog opened: ${dialog.message()}`);
            void dialog.dismiss();
        });
        // The page must work without a network: no request may leave the server.
        const home = new URL(address);
        page.on('request', (request) => {
            const asked = new URL(request.url());
            const own = ['data:', 'blob:'].includes(asked.protocol) || (asked.protocol === home.protocol && asked.host === home.host);
            if (!own) driver.errors.push(`asked for ${request.url()}`);
        });
        await page.addInitScript(trackQueries);
        await driver.go('');
        return driver;
    }

    /** @param {import('playwright-core').Page} page @param {string} address */
    constructor(page, address) {
        this.page = page;
        this.address = address.replace(/#.*$/, '');
    }

    /** Opens a view with a selection, `timeline?ranks=0`. The page is reloaded, as from a shared link. */
    async go(hash) {
        if (this.page.url() === 'about:blank') {
            await this.page.goto(`${this.address}#${hash}`);
        } else {
            // Going through an empty page would start a new browser process each time.
            await this.page.evaluate((there) => history.replaceState(null, '', there), `#${hash}`);
            await this.page.reload();
        }
        await this.page.locator('h1').waitFor();
        await this.waitUntilIdle();
    }

    /** Waits until no query is open or pending. */
    async waitUntilIdle() {
        await this.page.waitForFunction(isIdle, QUIET_MS, { timeout: 40_000 }).catch(async () => {
            const open = await this.page.evaluate(() => [...window.openQueries.open.values()]);
            assert.fail(`the page is not at rest after forty seconds; it waits for ${open.join(', ') || 'no answer'}`);
        });
        await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }

    /** Names of the available views, as in the address. */
    async views() {
        const links = await this.page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
        return links.map((link) => link.replace(/^#/, '').replace(/\?.*$/, ''));
    }

    /** The current address without `#`. Evaluated in the page because `page.url()` lags behind. */
    async hash() {
        return (await this.page.evaluate(() => location.hash)).slice(1);
    }

    /** A parameter of the address. */
    async param(name) {
        return new URLSearchParams((await this.hash()).split('?')[1] ?? '').get(name);
    }

    /** Waits for a condition; fails with a description of it. */
    async waitFor(what, condition) {
        for (let tries = 0; tries < 400; tries++) {
            if (await condition()) return;
            await this.page.waitForTimeout(50);
        }
        assert.fail(`${what}: not within twenty seconds`);
    }

    /** Expects no serious or critical violation of the accessibility rules of axe. */
    async expectAccessible() {
        if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(axe);
        const found = await this.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        const grave = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
        const nodes = (one) => one.nodes.slice(0, 4).map((node) => `    ${node.target} ${node.failureSummary}`);
        const said = grave.map((one) => [`${one.id}: ${one.help}`, ...nodes(one)].join('\n'));
        assert.deepEqual(grave, [], `axe at ${this.page.url()}:\n${said.join('\n')}`);
    }

    /** Expects that nothing is wider than the window. */
    async expectNoHorizontalScroll() {
        const [wide, room] = await this.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(wide <= room, `the page is ${wide} pixels wide in a window of ${room} at ${this.page.url()}`);
    }

    /** Expects that every chart can be saved as SVG and its data as CSV. */
    async expectExports() {
        const unsaved = await this.page.evaluate(() => {
            const names = (all) => [...all].map((one) => one.getAttribute('aria-label') ?? one.querySelector('h2')?.textContent ?? one.className);
            const has = (figure, kind) => [...(figure?.querySelectorAll('.save button') ?? [])].some((button) => button.textContent === kind);
            const figures = [...document.querySelectorAll('main .figure')].filter((figure) => !has(figure, 'CSV'));
            // The overview strip belongs to the timeline, which has its own export.
            const charts = [...document.querySelectorAll('main canvas, main svg[role=img]')].filter((chart) => !chart.closest('.timeline-strip'));
            return names([...figures, ...charts.filter((chart) => !has(chart.closest('.figure'), 'SVG'))]);
        });
        assert.deepEqual(unsaved, [], `what cannot be saved at ${this.page.url()}`);
        for (const button of await this.page.locator('.save button').all()) {
            if (!(await button.isVisible())) continue;
            const name = (await button.getAttribute('aria-label')) ?? '';
            const text = await this.downloadFrom(button);
            if (/SVG$/.test(name)) await this.#expectScreenshot(name, text);
            else expectCsv(name, text);
        }
    }

    /** The text of the file that a button downloads. Chromium drops the eleventh download within a few seconds: a second click gets it. */
    async downloadFrom(button) {
        const click = async (timeout) => (await Promise.all([this.page.waitForEvent('download', { timeout }), button.click()]))[0];
        const download = await click(5000).catch(() => click(30000));
        return readFile(await download.path(), 'utf8');
    }

    async #expectScreenshot(name, text) {
        const drawn = await this.page.evaluate((svg) => {
            const read = new DOMParser().parseFromString(svg, 'image/svg+xml');
            return read.querySelector('parsererror') ? -1 : read.querySelectorAll('rect, path, line, circle, polygon, text').length;
        }, text);
        assert.ok(drawn > 2, `${name}: a picture with something in it, not ${drawn} things`);
        assert.ok(!/var\(--/.test(text), `${name}: colours that hold outside the page`);
    }

    /** Compares a screenshot with the stored one; `SINTONIA_UPDATE_PICTURES=1` replaces the stored one. */
    async expectScreenshot(name) {
        await this.page.mouse.move(0, 0);
        await this.waitUntilIdle();
        await compareScreenshot(name, await this.page.screenshot({ animations: 'disabled', caret: 'hide' }));
    }

    /**
     * Compares screenshots of addresses, given by name, in light and dark colours, with all results of the analysis. With an address can
     * be a selector of what it is scrolled to.
     */
    async expectScreenshots(addresses) {
        await this.go('timeline');
        const waiting = this.page.locator('.timeline-kinds tr', { hasText: 'waiting' }).locator('td:last-child');
        await this.waitFor('the analysis is available', async () => !['', '…'].includes(await waiting.innerText()));
        for (const colorScheme of ['light', 'dark']) {
            await this.page.emulateMedia({ colorScheme });
            for (const [name, place] of Object.entries(addresses)) {
                const [address, selector] = [place].flat();
                await this.go(address);
                if (selector) await this.page.locator(selector).evaluate((element) => element.scrollIntoView());
                await this.expectScreenshot(`${name}-${colorScheme}`);
            }
        }
    }

    expectNoErrors() {
        assert.deepEqual(this.errors, [], 'the page complained');
    }

    /** Saves a screenshot of a failed scenario. */
    async saveScreenshot(name) {
        const file = join(process.env.SINTONIA_SIGHTS ?? tmpdir(), `sintonia-${name}.png`);
        await this.page.screenshot({ path: file }).catch(() => undefined);
        console.error(`at ${this.page.url()}, which looked like ${file}; errors: ${JSON.stringify(this.errors)}`);
    }
}

function expectCsv(name, text) {
    const lines = text.trimEnd().split('\r\n');
    assert.ok(lines.length > 1, `${name}: a line of names and at least one of data`);
    // Quoted fields may contain commas.
    const width = (line) => line.replaceAll(/"(?:[^"]|"")*"/g, '').split(',').length;
    assert.deepEqual([...new Set(lines.map(width))], [width(lines[0])], `${name}: as many fields in each line`);
}
