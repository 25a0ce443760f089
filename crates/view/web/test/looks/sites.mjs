// Call sites: sorted and filtered, walked through with keys, with the source beside.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function sites(visit) {
    const { page } = visit;
    await visit.go('sites');
    const rows = page.getByRole('grid', { name: 'Call sites' }).locator('tbody tr');
    const all = await rows.count();
    assert.ok(all > 3, 'every call site has a row');
    await rows.filter({ hasText: 'MPI_Recv' }).first().click();
    assert.equal(await visit.selected('operation'), 'MPI_Recv');
    const marked = page.locator('.source mark');
    await marked.waitFor();
    assert.match(await marked.innerText(), /MPI_Recv\(/, 'the line of the source that calls it is marked');
    const site = await visit.selected('site');
    await page.keyboard.press('ArrowDown');
    await visit.until('the next one is selected', async () => (await visit.selected('site')) !== site);
    await page.keyboard.press('/');
    await page.keyboard.type('finalize');
    await visit.until('only what was looked for is left', async () => (await rows.count()) === 1);
    await rows.first().click();
    await rows.first().press('Enter');
    await page.locator('.timeline-canvas').waitFor();
    assert.equal(await visit.selected('operation'), 'MPI_Finalize', 'Enter shows it on the timeline');
    await visit.go(await visit.hash());
    assert.equal(await visit.selected('operation'), 'MPI_Finalize', 'also to whoever gets the address');
}
