// A tuning that goes on while it is looked at: what is decided appears by itself, until the run is over. The folder of the recording is in
// `SINTONIA_TUNED`, and its header waits in `later.json`.
import assert from 'node:assert/strict';
import { appendFile, rename } from 'node:fs/promises';
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
    await told(figures(1, 0.9), change(2));
    await visit.until('what is decided appears', async () => (await decisions.count()) === 1);
    await told(figures(3, 0.5), change(4), change(5, { refused: 'it is over' }));
    await visit.until('and what is decided next', async () => (await decisions.count()) === 3);
    await rename(join(folder, 'later.json'), join(folder, 'recording.json'));
    await visit.until('the end of the run is seen', async () => !/live/.test(await status.innerText()));
    assert.match(await status.innerText(), /^2 changes, and 1 not carried out/);
    await page.getByRole('img', { name: 'grain over time, in steps' }).waitFor();
    await page.getByRole('img', { name: 'What was measured over time: iteration' }).waitFor();
    assert.ok((await decisions.filter({ hasText: WHY }).count()) > 0, 'why stands beside it, as it was told');
    await visit.expectAccessible();
    await visit.expectSaves();
}
