// Placement view: ranks on hosts before and after, load of links, command to run.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function placement(driver) {
    const { page } = driver;
    await driver.go('placement');
    assert.match(await page.locator('.placement-verdict').innerText(), /^With less load on the busiest link, the run takes .* % less time/);
    const now = page.getByRole('img', { name: /^Now: ranks by host/ });
    const placed = page.getByRole('img', { name: /^Placed: ranks by host/ });
    const ranks = async (picture) => (await picture.locator('text.rank').allTextContents()).map(Number).sort((one, other) => one - other);
    const all = await ranks(now);
    assert.deepEqual(all, [...all.keys()], 'every rank has its place');
    assert.deepEqual(await ranks(placed), all, 'also when it is placed');
    assert.notEqual(await now.getAttribute('aria-label'), await placed.getAttribute('aria-label'), 'but not the same one');
    assert.match(await page.locator('.placement-launcher-file code').innerText(), /placement/, 'the command to copy');
    const sheet = await driver.downloadFrom(page.getByRole('button', { name: /^Save .*\.placement$/ }));
    assert.match(sheet, /one/, 'the file names the hosts');
    await page.getByRole('img', { name: /^Load of the busiest links/ }).waitFor();
    assert.ok((await page.getByRole('table', { name: 'Placements considered' }).locator('tbody tr').count()) >= 2);
    await now.locator('.slot', { hasText: 'rank 3,' }).click();
    assert.equal(await driver.param('ranks'), '3', 'a rank can be selected where it is');
    assert.equal(await page.getByLabel('Select ranks').inputValue(), '3', 'and by its number');
    await driver.expectAccessible();
    await driver.expectExports();
}
