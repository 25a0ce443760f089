// Function view: flame graph, call tree, callers, source lines, and the difference of two groups of ranks.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function functions(driver) {
    const { page } = driver;
    await driver.go('functions');
    const canvas = page.locator('.flame-canvas');
    const status = page.locator('.flame-status');
    const boxes = async () => Number(await canvas.getAttribute('data-boxes'));
    assert.ok((await boxes()) >= 8, 'every function has a box');
    await canvas.hover({ position: { x: 20, y: 8 } });
    assert.match(await page.locator('.flame-tooltip').innerText(), /all functions\s+total .*100 %/);
    await page.mouse.move(0, 0);
    await zoomsWithKeys(driver, canvas, status);
    await searches(driver, status);
    await showsSource(driver);
    await opensRows(driver);
    await followsTheSelection(driver);
    await comparesRanks(driver);
    await page.getByRole('checkbox', { name: 'Split by line' }).check();
    await driver.waitUntilIdle();
    assert.match(await page.getByRole('treegrid').innerText(), /step:\d+/);
    for (const address of [
        'functions?function=99999&zoom=x.y&open=!!&base=ranks:77&threads=none&search=%5B',
        'functions',
        'functions?tree=callers&function=0',
        'functions?base=ranks:0',
    ]) {
        await driver.go(address);
        for (const colorScheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme });
            await driver.waitUntilIdle();
            await driver.expectAccessible();
        }
        await driver.expectNoHorizontalScroll();
        await driver.expectExports();
    }
}

async function zoomsWithKeys(driver, canvas, status) {
    const { page } = driver;
    await canvas.focus();
    // The root, then main, step, and the function with the most time.
    for (let depth = 0; depth < 4; depth++) await page.keyboard.press('ArrowDown');
    await driver.waitFor('the function under the cursor is told', async () => /^smooth; total .*; self /.test(await status.first().innerText()));
    await page.keyboard.press('ArrowRight');
    assert.doesNotMatch(await status.first().innerText(), /^smooth;/, 'its neighbour is another function');
    await page.keyboard.press('ArrowLeft');
    const before = await canvas.getAttribute('data-boxes');
    await page.keyboard.press('Enter');
    await driver.waitFor('the address has the zoom', async () => (await driver.param('zoom')) !== null);
    assert.notEqual(await canvas.getAttribute('data-boxes'), before);
    assert.notEqual(await driver.param('function'), null, 'and the function');
    await driver.go(await driver.hash());
    assert.match(await status.first().innerText(), /^smooth: .* of all/, 'also from a shared link');
    await canvas.focus();
    await page.keyboard.press('0');
    await driver.waitFor('0 shows all', async () => (await driver.param('zoom')) === null);
}

async function searches(driver, status) {
    const { page } = driver;
    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.keyboard.type('^(smooth|transform)$');
    await driver.waitFor('the share is told', async () => /match.*: \d/.test(await status.first().innerText()));
    const share = Number(/(\d+) % of the time/.exec(await status.first().innerText())?.[1]);
    assert.ok(share > 30 && share < 95, `${share} %`);
    await page.getByRole('searchbox').fill('(');
    await driver.waitFor('an invalid one is told', async () => /not a regular expression/.test(await status.first().innerText()));
    await page.getByRole('searchbox').fill('');
}

async function showsSource(driver) {
    const { page } = driver;
    const rows = page.getByRole('treegrid').locator('tbody tr');
    await rows.filter({ hasText: 'apply_stencil' }).first().click();
    const hot = page.locator('.source-lines tr[aria-current]');
    const loop = /(ms|s).*\n?.*(sink \+= i \* 0\.5|for \(long i)/s;
    await driver.waitFor('time is beside the line of the loop', async () => loop.test(await hot.innerText()));
    await page.getByRole('group', { name: 'Below a function' }).getByRole('button', { name: 'callers' }).click();
    assert.equal(await driver.param('tree'), 'callers');
    assert.match(await rows.first().innerText(), /apply_stencil/, 'the function with the most time of its own comes first');
    await page.getByRole('group', { name: 'Below a function' }).getByRole('button', { name: 'callees' }).click();
}

async function opensRows(driver) {
    const { page } = driver;
    const rows = page.getByRole('treegrid').locator('tbody tr');
    const first = rows.first();
    const all = await rows.count();
    await first.focus();
    await page.keyboard.press('ArrowLeft');
    await driver.waitFor('a row is closed', async () => (await rows.count()) < all);
    assert.equal(await first.getAttribute('aria-expanded'), 'false');
    assert.notEqual(await driver.param('open'), null, 'the address has it');
    await page.keyboard.press('ArrowRight');
    await driver.waitFor('and opened again', async () => (await rows.count()) === all);
    await page.getByRole('button', { name: 'self', exact: true }).click();
    assert.equal(await driver.param('order.Call tree'), '-self');
}

async function followsTheSelection(driver) {
    const { page } = driver;
    const summary = page.locator('main p', { hasText: 'on processors' });
    await page.getByLabel('Select ranks').fill('1');
    await page.getByLabel('Select ranks').press('Enter');
    await driver.waitFor('only one rank', async () => /of 1 rank\b/.test(await summary.innerText()));
    const [one, zero] = [await smoothTime(driver), await driver.go('functions?ranks=0').then(() => smoothTime(driver))];
    assert.ok(zero > 1.3 * one, `rank 0 computes twice as long: ${zero} s and ${one} s`);
}

/** Seconds in `smooth`, from the saved table. */
async function smoothTime(driver) {
    const saved = await driver.downloadFrom(driver.page.getByRole('button', { name: 'Save the data of “Call tree” as CSV' }));
    const row = saved.split('\r\n').find((line) => line.startsWith('main;step;smooth,'));
    return Number(row?.split(',')[3]);
}

async function comparesRanks(driver) {
    const { page } = driver;
    await driver.go('functions');
    await page.getByLabel('Compare with').selectOption('ranks');
    await driver.waitUntilIdle();
    assert.equal(await driver.param('base'), 'ranks:0');
    const row = page.getByRole('treegrid').locator('tbody tr', { hasText: 'smooth' }).first();
    assert.match(await row.innerText(), /−/, 'rank 1 has less of it than rank 0');
    const saved = await driver.downloadFrom(page.getByRole('button', { name: 'Save the data of “Call tree” as CSV' }));
    assert.match(saved, /baseline \(s\),difference \(s\)/);
}
