// A visit to the page: where it is, what it said, and what is expected of every view.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { comparePicture } from './picture.mjs';

/** The page asks again for what is still worked on, and when a window rests: as long nothing must have been asked. */
const QUIET_MS = 300;
const SIZE = { width: 1280, height: 800 };
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** In the page: notes which questions have no answer yet, and when the last one was put or answered. */
function noteQuestions() {
    const questions = { open: new Map(), last: 0 };
    const ask = window.fetch;
    window.questions = questions;
    window.fetch = async (address, options) => {
        const question = Symbol();
        questions.open.set(question, address);
        questions.last = performance.now();
        try {
            return await ask(address, options);
        } finally {
            questions.open.delete(question);
            questions.last = performance.now();
        }
    };
}

/** In the page: whether nothing is being asked or worked on. */
function isAtRest(quiet) {
    const { open, last } = window.questions;
    const isWorking = () => document.querySelector('progress, [aria-busy=true]') || /Asking …|Opening …/.test(document.body.innerText);
    return open.size === 0 && performance.now() - last > quiet && !isWorking();
}

export class Visit {
    /** What the page complained about. */
    complaints = [];

    /** @param {import('playwright-core').Browser} browser @param {string} address */
    static async begin(browser, address) {
        const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
        const visit = new Visit(page, address);
        page.on('console', (message) => {
            // That a recording cannot tell something is an answer, though the browser notes it.
            const refused = /status of 404/.test(message.text()) && /\/api\//.test(message.location().url);
            if (['error', 'warning'].includes(message.type()) && !refused) visit.complaints.push(`${message.type()}: ${message.text()}`);
        });
        page.on('pageerror', (error) => visit.complaints.push(`exception: ${error.stack ?? error.message}`));
        page.on('dialog', (dialog) => {
            visit.complaints.push(`a dialog opened: ${dialog.message()}`);
            void dialog.dismiss();
        });
        // Nothing may come from elsewhere: the page works where there is no network.
        const home = new URL(address);
        page.on('request', (request) => {
            const asked = new URL(request.url());
            const own = ['data:', 'blob:'].includes(asked.protocol) || (asked.protocol === home.protocol && asked.host === home.host);
            if (!own) visit.complaints.push(`asked for ${request.url()}`);
        });
        await page.addInitScript(noteQuestions);
        await visit.go('');
        return visit;
    }

    /** @param {import('playwright-core').Page} page @param {string} address */
    constructor(page, address) {
        this.page = page;
        this.address = address.replace(/#.*$/, '');
    }

    /** Opens a view, with what is selected: `timeline?ranks=0`. The page is loaded afresh, as by somebody who got the address. */
    async go(hash) {
        if (this.page.url() === 'about:blank') {
            await this.page.goto(`${this.address}#${hash}`);
        } else {
            // By way of an empty page the browser would begin a process for each.
            await this.page.evaluate((there) => history.replaceState(null, '', there), `#${hash}`);
            await this.page.reload();
        }
        await this.page.locator('h1').waitFor();
        await this.settled();
    }

    /** Waits until nothing is being asked or worked on any more. */
    async settled() {
        await this.page.waitForFunction(isAtRest, QUIET_MS, { timeout: 40_000 }).catch(async () => {
            const open = await this.page.evaluate(() => [...window.questions.open.values()]);
            assert.fail(`the page is not at rest after forty seconds; it waits for ${open.join(', ') || 'no answer'}`);
        });
        await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }

    /** The names of all views there are, as the address has them. */
    async views() {
        const links = await this.page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
        return links.map((link) => link.replace(/^#/, '').replace(/\?.*$/, ''));
    }

    /** The view and what is selected, as the address has it: asked in the page, for `page.url()` is a little late. */
    async hash() {
        return (await this.page.evaluate(() => location.hash)).slice(1);
    }

    /** A part of what is selected. */
    async selected(name) {
        return new URLSearchParams((await this.hash()).split('?')[1] ?? '').get(name);
    }

    /** Waits until something is so; says what was waited for if it never is. */
    async until(what, isSo) {
        for (let tries = 0; tries < 400; tries++) {
            if (await isSo()) return;
            await this.page.waitForTimeout(50);
        }
        assert.fail(`${what}: not within twenty seconds`);
    }

    /** No rule of accessibility is broken in a way that axe calls serious or critical. */
    async expectAccessible() {
        if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(axe);
        const found = await this.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        const grave = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
        const nodes = (one) => one.nodes.slice(0, 4).map((node) => `    ${node.target} ${node.failureSummary}`);
        const said = grave.map((one) => [`${one.id}: ${one.help}`, ...nodes(one)].join('\n'));
        assert.deepEqual(grave, [], `axe at ${this.page.url()}:\n${said.join('\n')}`);
    }

    /** Nothing is wider than the window: at 1,280 pixels nobody scrolls sideways. */
    async expectNoSidewaysScroll() {
        const [wide, room] = await this.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(wide <= room, `the page is ${wide} pixels wide in a window of ${room} at ${this.page.url()}`);
    }

    /** Every chart can be saved as a picture, and its data as a table. */
    async expectSaves() {
        const unsaved = await this.page.evaluate(() => {
            const names = (all) => [...all].map((one) => one.getAttribute('aria-label') ?? one.querySelector('h2')?.textContent ?? one.className);
            const has = (figure, kind) => [...(figure?.querySelectorAll('.save button') ?? [])].some((button) => button.textContent === kind);
            const figures = [...document.querySelectorAll('main .figure')].filter((figure) => !has(figure, 'CSV'));
            // The strip shows where the window is in the run; the timeline below it can be saved.
            const charts = [...document.querySelectorAll('main canvas, main svg[role=img]')].filter((chart) => !chart.closest('.timeline-strip'));
            return names([...figures, ...charts.filter((chart) => !has(chart.closest('.figure'), 'SVG'))]);
        });
        assert.deepEqual(unsaved, [], `what cannot be saved at ${this.page.url()}`);
        for (const button of await this.page.locator('.save button').all()) {
            if (!(await button.isVisible())) continue;
            const name = (await button.getAttribute('aria-label')) ?? '';
            const text = await this.savedBy(button);
            if (/SVG$/.test(name)) await this.#expectPicture(name, text);
            else expectTable(name, text);
        }
    }

    /** What a button saves, as a text. */
    async savedBy(button) {
        const [download] = await Promise.all([this.page.waitForEvent('download'), button.click()]);
        return readFile(await download.path(), 'utf8');
    }

    async #expectPicture(name, text) {
        const drawn = await this.page.evaluate((svg) => {
            const read = new DOMParser().parseFromString(svg, 'image/svg+xml');
            return read.querySelector('parsererror') ? -1 : read.querySelectorAll('rect, path, line, circle, polygon, text').length;
        }, text);
        assert.ok(drawn > 2, `${name}: a picture with something in it, not ${drawn} things`);
        assert.ok(!/var\(--/.test(text), `${name}: colours that hold outside the page`);
    }

    /** The page looks as it did, but for letters and the like; `SINTONIA_UPDATE_PICTURES=1` keeps the present look instead. */
    async expectPicture(name) {
        await this.page.mouse.move(0, 0);
        await this.settled();
        await comparePicture(name, await this.page.screenshot({ animations: 'disabled', caret: 'hide' }));
    }

    expectNoComplaint() {
        assert.deepEqual(this.complaints, [], 'the page complained');
    }

    /** Keeps what is seen now, for whoever reads that a look failed. */
    async keepSight(name) {
        const file = join(process.env.SINTONIA_SIGHTS ?? tmpdir(), `sintonia-${name}.png`);
        await this.page.screenshot({ path: file }).catch(() => undefined);
        console.error(`at ${this.page.url()}, which looked like ${file}; complaints: ${JSON.stringify(this.complaints)}`);
    }
}

function expectTable(name, text) {
    const lines = text.trimEnd().split('\r\n');
    assert.ok(lines.length > 1, `${name}: a line of names and at least one of data`);
    // Fields in quotes may hold commas.
    const width = (line) => line.replaceAll(/"(?:[^"]|"")*"/g, '').split(',').length;
    assert.deepEqual([...new Set(lines.map(width))], [width(lines[0])], `${name}: as many fields in each line`);
}
