// Ranks on hosts, before and after; how busy links are; what to run.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function placement(visit) {
    const { page } = visit;
    await visit.go('placement');
    assert.match(await page.locator('.placement-verdict').innerText(), /^Placed to spare the busiest link, the run takes .* % less time/);
    const now = page.getByRole('img', { name: /^Now: ranks by host/ });
    const placed = page.getByRole('img', { name: /^Placed: ranks by host/ });
    const ranks = async (picture) => (await picture.locator('text.rank').allTextContents()).map(Number).sort((one, other) => one - other);
    const all = await ranks(now);
    assert.deepEqual(all, [...all.keys()], 'every rank has its place');
    assert.deepEqual(await ranks(placed), all, 'also when it is placed');
    assert.notEqual(await now.getAttribute('aria-label'), await placed.getAttribute('aria-label'), 'but not the same one');
    assert.match(await page.locator('.placement-sheet code').innerText(), /placement/, 'the command to copy');
    const sheet = await visit.savedBy(page.getByRole('button', { name: /^Save .*\.placement$/ }));
    assert.match(sheet, /one/, 'the file names the hosts');
    await page.getByRole('img', { name: /^Load of the busiest links/ }).waitFor();
    assert.ok((await page.getByRole('table', { name: 'Placements that were looked at' }).locator('tbody tr').count()) >= 2);
    await now.locator('.slot', { hasText: 'rank 3,' }).click();
    assert.equal(await visit.selected('ranks'), '3', 'a rank can be selected where it is');
    assert.equal(await page.getByLabel('Select ranks').inputValue(), '3', 'and by its number');
    await visit.expectAccessible();
    await visit.expectSaves();
}
