// Timeline view: navigation from the whole run to single calls by wheel, pointer and keys; calls, messages, search, selection.
import assert from 'node:assert/strict';

/** With visible scrollbars, as on most desktops: they appear and disappear with the height of the page. */
export const launch = { ignoreDefaultArgs: ['--hide-scrollbars'] };

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function timeline(driver) {
    await driver.go('timeline');
    const here = new Timeline(driver);
    await here.drawn();
    await here.asksNothingWhileNothingIsDone();
    await here.keepsThePictureWhileAnotherSizeIsAskedFor();
    await here.showsColours();
    await here.zoomsAtThePointer();
    await here.movesByDraggingAndByKeys();
    await here.zoomsToAWindow();
    await here.showsSingleCalls();
    await here.stepsFromCallToCall();
    await here.findsCalls();
    await here.hidesKinds();
    await here.showsWaitsAndMessages();
    await here.selectsRanks();
    await here.showsTheWholeRunAboveAFewRanks();
    await here.groupsRanks();
    await here.keepsTheWindowInTheAddress();
    await here.leavesWithTheWindowAndWithoutLateAnswers();
    await here.saysWhyNothingIsFound();
    await here.drawsEachStep();
    await driver.expectAccessible();
}

class Timeline {
    constructor(driver) {
        this.driver = driver;
        this.page = driver.page;
        this.canvas = driver.page.locator('.timeline-canvas');
    }

    /** Waits until the window is drawn at full resolution. */
    async drawn() {
        await this.driver.waitFor('the window is drawn', async () => (await this.canvas.getAttribute('data-settled')) === 'true');
        await this.driver.waitUntilIdle();
    }

    /** The window, in nanoseconds. */
    async window() {
        const [from, to] = ((await this.canvas.getAttribute('data-drawn')) ?? '').split('-').map(Number);
        return { from, to, length: to - from };
    }

    /** Performs an action and returns the window before and after it. */
    async change(action) {
        const before = await this.window();
        await action();
        await this.driver.waitFor('the window changes', async () => {
            const now = await this.window();
            return now.from !== before.from || now.to !== before.to;
        });
        await this.drawn();
        return [before, await this.window()];
    }

    async whole() {
        await this.page.getByRole('button', { name: 'Whole run' }).click();
        await this.page.waitForTimeout(100);
        await this.drawn();
        return this.window();
    }

    async work() {
        await this.page.getByRole('button', { name: 'Active span' }).click();
        await this.page.waitForTimeout(100);
        await this.drawn();
    }

    async asksNothingWhileNothingIsDone() {
        // The selection bar adds a line, which can make the page higher than the window.
        await this.driver.go('timeline?ranks=0');
        let asked = 0;
        const note = (request) => {
            if (/\/api\/\d+\/timeline/.test(request.url())) asked++;
        };
        this.page.on('request', note);
        await this.page.waitForTimeout(2000);
        this.page.off('request', note);
        assert.ok(asked <= 2, `the analysis may still be running, but the timeline was queried ${asked} times`);
        await this.driver.go('timeline');
        await this.drawn();
    }

    async keepsThePictureWhileAnotherSizeIsAskedFor() {
        await this.canvas.evaluate((canvas) => {
            const seen = new Set();
            window.seenRows = seen;
            new MutationObserver(() => seen.add(Number.parseInt(canvas.getAttribute('aria-label'), 10))).observe(canvas, { attributes: true });
        });
        const size = this.page.viewportSize();
        const { width } = await this.canvas.boundingBox();
        await this.page.setViewportSize({ ...size, width: size.width - 60 });
        await this.driver.waitFor('the canvas is narrower', async () => (await this.canvas.boundingBox()).width < width);
        await this.drawn();
        await this.page.setViewportSize(size);
        await this.driver.waitFor('the canvas is as wide as before', async () => (await this.canvas.boundingBox()).width === width);
        await this.drawn();
        assert.ok(!(await this.page.evaluate(() => window.seenRows.has(0))), 'there are always rows to be seen');
    }

    async showsColours() {
        await this.work();
        const colours = await this.canvas.evaluate((canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        });
        assert.ok(colours > 8, `several kinds are drawn, not ${colours} colours`);
        const shares = await this.page.locator('.timeline-kinds tbody').first().locator('td:last-child').allInnerTexts();
        const sum = shares.reduce((all, share) => all + (Number.parseFloat(share.replace('<', '')) || 0), 0);
        assert.ok(sum > 95 && sum < 105, `the shares of all kinds are the whole: ${shares.join(', ')}`);
    }

    async zoomsAtThePointer() {
        await this.whole();
        const at = { x: 400, y: 60 };
        await this.canvas.hover({ position: at });
        const [before, after] = await this.change(() => this.page.mouse.wheel(0, -300));
        const box = await this.canvas.boundingBox();
        const part = (at.x - 88) / (box.width - 88);
        const moment = (window) => window.from + part * window.length;
        assert.ok(after.length < 0.7 * before.length, 'the wheel zooms in');
        assert.ok(Math.abs(moment(after) - moment(before)) < 0.01 * before.length, 'what is under the pointer stays there');
        const [, beside] = await this.change(() => this.page.mouse.wheel(after.to < before.to ? 200 : -200, 0));
        assert.ok(Math.abs(beside.length - after.length) <= 2, 'a wheel turned sideways moves, and does not zoom');
    }

    async movesByDraggingAndByKeys() {
        const box = await this.canvas.boundingBox();
        const [before, dragged] = await this.change(() => this.drag(box.x + 500, box.y + 80, box.x + 400, box.y + 80));
        const part = 100 / (box.width - 88);
        assert.ok(Math.abs(dragged.from - before.from - part * before.length) < 0.02 * before.length, 'dragging to the left shows what is later');
        await this.canvas.focus();
        const [, left] = await this.change(() => this.page.keyboard.press('ArrowLeft'));
        assert.ok(left.from < dragged.from && Math.abs(left.length - dragged.length) <= 2, 'an arrow moves');
        const [, nearer] = await this.change(() => this.page.keyboard.press('w'));
        assert.ok(nearer.length < left.length, 'w zooms in');
        const [, farther] = await this.change(() => this.page.keyboard.press('-'));
        assert.ok(farther.length > nearer.length, '- zooms out');
        const [, whole] = await this.change(() => this.page.keyboard.press('0'));
        assert.equal(await this.driver.param('from'), null, '0 shows the whole run');
        await this.change(() => this.page.keyboard.press('+'));
        const [, first] = await this.change(() => this.page.keyboard.press('Home'));
        assert.equal(first.from, whole.from, 'Home goes to the beginning');
        const [, last] = await this.change(() => this.page.keyboard.press('End'));
        assert.equal(last.to, whole.to, 'End goes to the end');
    }

    async drag(x0, y0, x1, y1) {
        await this.page.mouse.move(x0, y0);
        await this.page.mouse.down();
        await this.page.mouse.move((x0 + x1) / 2, y1, { steps: 3 });
        await this.page.mouse.move(x1, y1, { steps: 3 });
        await this.page.mouse.up();
    }

    async zoomsToAWindow() {
        await this.whole();
        const box = await this.canvas.boundingBox();
        const [before, after] = await this.change(() => this.drag(box.x + 300, box.y + 10, box.x + 500, box.y + 10));
        const expected = (200 / (box.width - 88)) * before.length;
        assert.ok(Math.abs(after.length - expected) < 0.02 * before.length, 'dragging on the axis zooms to what was dragged over');
        await this.change(() => this.page.goBack());
        assert.deepEqual(await this.window(), before, 'and the way back leads to the window before');
    }

    /** Zooms in until single calls are drawn. */
    async showsSingleCalls() {
        await this.work();
        await this.canvas.focus();
        for (let tries = 0; tries < 30 && !(await this.canvas.getAttribute('data-calls')); tries++) {
            await this.change(() => this.page.keyboard.press('ArrowUp'));
        }
        await this.driver.waitFor('single calls are drawn', async () => Number(await this.canvas.getAttribute('data-calls')) > 0);
    }

    async chosen() {
        const details = this.page.locator('.timeline-details');
        await details.locator('dl').waitFor();
        const names = await details.locator('dt').allInnerTexts();
        const values = await details.locator('dd').allInnerTexts();
        const operation = (await details.locator('h3').innerText()).split('\n')[0].replace('✕', '').trim();
        return Object.fromEntries([['operation', operation], ...names.map((name, at) => [name, values[at]])]);
    }

    async stepsFromCallToCall() {
        await this.canvas.focus();
        await this.page.keyboard.press(']');
        const first = await this.chosen();
        assert.match(first.operation, /^MPI_/);
        assert.match(first['call site'], /:\d+$/);
        const call = await this.driver.param('call');
        await this.page.keyboard.press(']');
        await this.driver.waitFor('another call is chosen', async () => (await this.driver.param('call')) !== call);
        const second = await this.chosen();
        assert.ok(Number.parseFloat(second.entered) >= Number.parseFloat(first.left), `${second.entered} comes after ${first.left}`);
        assert.equal(second.rank, first.rank, 'of the same rank');
        await this.page.keyboard.press('[');
        await this.driver.waitFor('the call before is chosen again', async () => (await this.driver.param('call')) === call);
        await this.chosen();
        await this.page.keyboard.press('Enter');
        assert.ok(await this.page.evaluate(() => document.activeElement?.closest('.timeline-details') !== null), 'Enter leads into the details');
        await this.page.getByRole('button', { name: 'Zoom to it' }).click();
        await this.drawn();
        const { length } = await this.window();
        const took = 1e9 * (Number.parseFloat(first.left) - Number.parseFloat(first.entered));
        assert.ok(length < 2 * took + 200, `the call fills the window: ${length} for ${took} ns`);
    }

    async findsCalls() {
        await this.whole();
        await this.canvas.focus();
        await this.page.keyboard.press('Escape');
        await this.page.keyboard.press('/');
        assert.equal(await this.page.evaluate(() => document.activeElement?.getAttribute('name')), 'operation', '/ leads to the search');
        await this.page.keyboard.type('finalize');
        await this.page.keyboard.press('Enter');
        await this.page.locator('.timeline-search output', { hasText: 'MPI_Finalize on rank' }).waitFor();
        assert.equal((await this.chosen()).operation, 'MPI_Finalize');
        await this.page.locator('.timeline-search input[name=longer]').fill('nonsense');
        await this.page.keyboard.press('Enter');
        await this.page.locator('.timeline-search output', { hasText: 'not a time' }).waitFor();
        await this.page.locator('.timeline-search input[name=longer]').fill('');
        await this.page.locator('.timeline-search input[name=operation]').fill('');
    }

    async hidesKinds() {
        await this.work();
        const picture = () => this.canvas.evaluate((canvas) => canvas.toDataURL());
        const before = await picture();
        const button = this.page.locator('.timeline-kinds').getByRole('button', { name: 'computing' });
        await button.click();
        assert.equal(await button.getAttribute('aria-pressed'), 'false');
        await this.driver.waitFor('another picture', async () => (await picture()) !== before);
        assert.equal(await this.driver.param('off'), 'computing');
        await button.click();
        await this.driver.waitFor('the picture as before', async () => (await picture()) === before);
    }

    /** Each layer is visible: hiding it changes the image. */
    async showsWaitsAndMessages() {
        await this.showsSingleCalls();
        const said = this.page.locator('.timeline-kinds tr', { hasText: 'messages' }).locator('td:last-child');
        await this.driver.waitFor('there are messages, and they are few', async () => Number(await said.innerText()) > 0);
        await this.drawn();
        const picture = () => this.canvas.evaluate((canvas) => canvas.toDataURL());
        for (const name of ['waiting', 'critical path', 'messages']) {
            const before = await picture();
            const button = this.page.locator('.timeline-kinds').getByRole('button', { name });
            await button.click();
            await this.driver.waitFor(`${name} no longer drawn`, async () => (await picture()) !== before);
            await button.click();
            await this.driver.waitFor(`${name} drawn again`, async () => (await picture()) === before);
        }
    }

    async selectsRanks() {
        const field = this.page.getByLabel('Select ranks');
        await field.fill('0-1');
        await field.press('Enter');
        await this.driver.waitFor('ranks are selected by keyboard', async () => (await this.driver.param('ranks')) === '0-1');
        await field.fill('');
        await field.press('Enter');
        await this.driver.waitFor('none is selected', async () => (await this.driver.param('ranks')) === null);
        const box = await this.canvas.boundingBox();
        await this.page.mouse.click(box.x + 20, box.y + 26 + 10);
        await this.driver.waitFor('a rank is selected', async () => (await this.driver.param('ranks')) === '0');
        const window = [await this.driver.param('from'), await this.driver.param('to')];
        await this.page.locator('nav a[href^="#overview"]').click();
        assert.equal(await this.driver.param('ranks'), '0', 'the other views follow');
        assert.deepEqual([await this.driver.param('from'), await this.driver.param('to')], window, 'also in the window');
        await this.page.goBack();
        await this.drawn();
        await this.page.getByRole('button', { name: 'Only 0' }).click();
        await this.driver.waitFor('one row is left', async () => /^1 rows?/.test((await this.canvas.getAttribute('aria-label')) ?? ''));
        await this.driver.go('timeline');
        await this.drawn();
    }

    async showsTheWholeRunAboveAFewRanks() {
        const asked = [];
        const note = (request) => asked.push(new URL(request.url()));
        this.page.on('request', note);
        await this.driver.go('timeline?show=0');
        await this.drawn();
        this.page.off('request', note);
        const queries = asked.filter((one) => /\/timeline$/.test(one.pathname)).map((one) => one.searchParams);
        assert.ok(
            queries.some((query) => query.get('ranks') === '0'),
            'one rank is drawn',
        );
        assert.ok(
            queries.some((query) => !query.has('ranks') && !query.has('from')),
            'and all ranks in the strip',
        );
        await this.driver.go('timeline');
        await this.drawn();
    }

    async groupsRanks() {
        const rows = async () => Number.parseInt((await this.canvas.getAttribute('aria-label')) ?? '', 10);
        const ranks = await rows();
        const by = this.page.getByRole('group', { name: 'By' });
        await by.getByRole('button', { name: 'role' }).click();
        await this.driver.waitFor('rows are roles', async () => (await this.driver.param('by')) === 'role' && (await rows()) < ranks);
        await this.drawn();
        await by.getByRole('button', { name: 'rank' }).click();
        await this.driver.waitFor('rows are ranks', async () => (await rows()) === ranks);
    }

    async keepsTheWindowInTheAddress() {
        await this.work();
        await this.change(() => this.page.keyboard.press('+'));
        await this.page.waitForTimeout(400);
        const before = await this.window();
        await this.driver.go(await this.driver.hash());
        await this.drawn();
        assert.deepEqual(await this.window(), before, 'a shared link shows the same window');
    }

    async leavesWithTheWindowAndWithoutLateAnswers() {
        await this.whole();
        const answered = this.page.waitForRequest(/\/find\?/);
        let answer = () => undefined;
        await this.page.route(/\/find\?/, (route) => {
            answer = () => route.continue().catch(() => undefined);
        });
        await this.canvas.focus();
        await this.page.keyboard.press(']');
        await answered;
        await this.page.keyboard.press('+');
        await this.page.keyboard.press('m');
        await this.driver.waitFor('the matrix is shown', async () => (await this.driver.hash()).startsWith('matrix'));
        assert.notEqual(await this.driver.param('from'), null, 'the window goes along, however soon one leaves');
        await answer();
        await this.page.waitForTimeout(500);
        assert.equal(await this.driver.param('call'), null, 'a call that is found too late is not chosen elsewhere');
        await this.page.unroute(/\/find\?/);
        await this.driver.go('timeline');
        await this.drawn();
        const link = await this.page.locator('nav a[href^="#matrix"]').boundingBox();
        await this.page.keyboard.press('+');
        await this.page.mouse.click(link.x + 5, link.y + 5);
        await this.driver.waitFor('the window goes along a link, too', async () => /^matrix\?.*from=/.test(await this.driver.hash()));
        await this.driver.go('timeline');
        await this.drawn();
    }

    async saysWhyNothingIsFound() {
        await this.page.route(/\/find\?/, (route) => route.fulfill({ status: 404, json: { error: 'no such call' } }));
        await this.canvas.focus();
        await this.page.keyboard.press(']');
        await this.page.locator('.timeline-status', { hasText: 'no such call' }).waitFor();
        await this.page.unroute(/\/find\?/);
    }

    /** Every step is drawn at once from cached data, then at full resolution. `bench` measures how fast. */
    async drawsEachStep() {
        await this.whole();
        await this.canvas.hover({ position: { x: 500, y: 60 } });
        for (let step = 0; step < 12; step++) {
            const [, now] = await this.change(() => this.page.mouse.wheel(0, step < 8 ? -300 : 250));
            assert.ok(now.length > 0, 'every step is drawn');
        }
    }
}
