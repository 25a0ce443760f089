// A tuning in progress: decisions appear without a reload until the run ends. `SINTONIA_TUNED` is the directory of the recording;
// its header waits in `later.json`.
import assert from 'node:assert/strict';
import { appendFile, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

const figures = (time, value) => ({ kind: 'figures', time_s: time, tunlet: 't', figures: [{ name: 'iteration', value, unit: 's' }] });
const WHY = '<b>less</b> waiting';
const change = (time, more = {}) => ({ kind: 'change', time_s: time, tunlet: 't', action: 'grain', rank: 0, old: 8, new: time, why: WHY, ...more });

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function tuning(driver) {
    const { page } = driver;
    const folder = process.env.SINTONIA_TUNED ?? '';
    const appendEntries = (...entries) => appendFile(join(folder, 'tuning.jsonl'), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const status = page.locator('.tuning-status');
    const decisions = page.getByRole('table', { name: 'Decisions' }).locator('tbody tr');
    // The page polls every second, so it never becomes idle.
    await page.goto('about:blank');
    await page.goto(`${driver.address}#tuning`);
    await driver.waitFor('the run goes on', async () => /live/.test(await status.innerText()));
    // The first change is shortly after the first call.
    const { zero_s } = JSON.parse(await readFile(join(folder, 'later.json'), 'utf8'));
    await appendEntries({ kind: 'began', time_s: 0, since_1970_s: zero_s - 1.99 }, figures(1, 0.9), change(2));
    await driver.waitFor('what is decided appears', async () => (await decisions.count()) === 1);
    await appendEntries(figures(3, 0.5), change(4), change(5, { refused: 'it is over' }));
    await driver.waitFor('and what is decided next', async () => (await decisions.count()) === 3);
    await outlivesAFailure(driver, async () => {
        await appendEntries(...Array.from({ length: 4000 }, (_, at) => figures(6 + at / 1000, at % 7)), change(11));
    });
    await driver.waitFor('what came meanwhile is there', async () => (await decisions.count()) === 4);
    const line = page.getByRole('img', { name: 'Metrics over time: iteration' }).locator('path').last();
    await driver.waitFor('a long line is drawn', async () => ((await line.getAttribute('d')) ?? '').length > 1000);
    const points = ((await line.getAttribute('d')) ?? '').split('L').length;
    assert.ok(points <= 1100, `too many points are drawn: ${points}`);
    await rename(join(folder, 'later.json'), join(folder, 'recording.json'));
    await driver.waitFor('the end of the run is seen', async () => !/live/.test(await status.innerText()));
    assert.match(await status.innerText(), /^3 changes, and 1 not carried out/);
    await page.getByRole('img', { name: 'grain over time, in steps' }).waitFor();
    await page.getByRole('img', { name: 'Metrics over time: iteration' }).waitFor();
    assert.ok((await decisions.filter({ hasText: WHY }).count()) > 0, 'the reason is shown as plain text');
    await driver.expectAccessible();
    await driver.expectExports();
    const first = page.getByTitle('Show this time on the timeline');
    assert.equal(await first.count(), 1, 'only the first change was made while the program ran');
    await first.click();
    await page.locator('.timeline-canvas').waitFor();
    const [from, to] = await Promise.all(['from', 'to'].map(async (end) => Number(await driver.param(end))));
    assert.ok(from < 1e7 && 1e7 < to, `10 ms are between ${from} and ${to} ns`);
}

/** After a temporary network failure the entries are still there, and polling continues. */
async function outlivesAFailure(driver, meanwhile) {
    const { page, errors } = driver;
    let failed = 0;
    await page.route(/\/tuning\?after=/, (route) => {
        failed++;
        return route.abort();
    });
    await driver.waitFor('queries fail', () => failed >= 2);
    await meanwhile();
    assert.equal(await page.getByRole('table', { name: 'Decisions' }).locator('tbody tr').count(), 3, 'the entries are still there');
    await page.unroute(/\/tuning\?after=/);
    await driver.waitFor('the browser notes every failure', () => errors.length >= failed);
    assert.ok(
        errors.splice(0).every((one) => /Failed to load/.test(one)),
        'the browser notes the failures, and nothing else',
    );
}
