// A tuning that goes on while it is looked at: what is decided appears by itself, until the run is over. The folder of the recording is in
// `SINTONIA_TUNED`, and its header waits in `later.json`.
import assert from 'node:assert/strict';
import { appendFile, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

const figures = (time, value) => ({ kind: 'figures', time_s: time, tunlet: 't', figures: [{ name: 'iteration', value, unit: 's' }] });
const WHY = '<b>less</b> waiting';
const change = (time, more = {}) => ({ kind: 'change', time_s: time, tunlet: 't', action: 'grain', rank: 0, old: 8, new: time, why: WHY, ...more });

/** @param {import('../visit.mjs').Visit} visit */
export default async function tuning(visit) {
    const { page } = visit;
    const folder = process.env.SINTONIA_TUNED ?? '';
    const told = (...entries) => appendFile(join(folder, 'tuning.jsonl'), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const status = page.locator('.tuning-says');
    const decisions = page.getByRole('table', { name: 'Decisions' }).locator('tbody tr');
    // A page that asks every second is never quite at rest.
    await page.goto('about:blank');
    await page.goto(`${visit.address}#tuning`);
    await visit.until('the run goes on', async () => /live/.test(await status.innerText()));
    // The first change comes a little after the first call.
    const { zero_s } = JSON.parse(await readFile(join(folder, 'later.json'), 'utf8'));
    await told({ kind: 'began', time_s: 0, since_1970_s: zero_s - 1.99 }, figures(1, 0.9), change(2));
    await visit.until('what is decided appears', async () => (await decisions.count()) === 1);
    await told(figures(3, 0.5), change(4), change(5, { refused: 'it is over' }));
    await visit.until('and what is decided next', async () => (await decisions.count()) === 3);
    await outlivesAFailure(visit, async () => {
        await told(...Array.from({ length: 4000 }, (_, at) => figures(6 + at / 1000, at % 7)), change(11));
    });
    await visit.until('what came meanwhile is there', async () => (await decisions.count()) === 4);
    const line = page.getByRole('img', { name: 'What was measured over time: iteration' }).locator('path').last();
    await visit.until('a long line is drawn', async () => ((await line.getAttribute('d')) ?? '').length > 1000);
    const points = ((await line.getAttribute('d')) ?? '').split('L').length;
    assert.ok(points <= 1100, `no more points are drawn than can be told apart, not ${points}`);
    await rename(join(folder, 'later.json'), join(folder, 'recording.json'));
    await visit.until('the end of the run is seen', async () => !/live/.test(await status.innerText()));
    assert.match(await status.innerText(), /^3 changes, and 1 not carried out/);
    await page.getByRole('img', { name: 'grain over time, in steps' }).waitFor();
    await page.getByRole('img', { name: 'What was measured over time: iteration' }).waitFor();
    assert.ok((await decisions.filter({ hasText: WHY }).count()) > 0, 'why stands beside it, as it was told');
    await visit.expectAccessible();
    await visit.expectSaves();
    const first = page.getByTitle('Show on the timeline what the ranks did then');
    assert.equal(await first.count(), 1, 'only the first change was made while the program ran');
    await first.click();
    await page.locator('.timeline-canvas').waitFor();
    const [from, to] = await Promise.all(['from', 'to'].map(async (end) => Number(await visit.selected(end))));
    assert.ok(from < 1e7 && 1e7 < to, `10 ms are between ${from} and ${to} ns`);
}

/** A network that fails for a moment: what was there stays, and more comes when it works again. */
async function outlivesAFailure(visit, meanwhile) {
    const { page, complaints } = visit;
    let failed = 0;
    await page.route(/\/tuning\?after=/, (route) => {
        failed++;
        return route.abort();
    });
    await visit.until('questions fail', () => failed >= 2);
    await meanwhile();
    assert.equal(await page.getByRole('table', { name: 'Decisions' }).locator('tbody tr').count(), 3, 'what was told is still there');
    await page.unroute(/\/tuning\?after=/);
    assert.ok(complaints.splice(0).every((one) => /Failed to load/.test(one)), 'the browser notes the failures, and nothing else');
}
