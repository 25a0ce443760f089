// The function view of a file: the whole run, single ranks, and lines; the text of the source only if it was included.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function functionsFile(driver) {
    const { page } = driver;
    await page.context().setOffline(true);
    const hasSource = /--source/.test(page.url());
    await driver.go('functions');
    assert.ok(Number(await page.locator('.flame-canvas').getAttribute('data-boxes')) >= 8);
    await page.getByRole('treegrid').locator('tbody tr', { hasText: 'apply_stencil' }).first().click();
    const hot = page.locator('.source-lines tr[aria-current]');
    await hot.waitFor();
    assert.match(await hot.innerText(), /\d (ms|s)/);
    assert.equal(await page.locator('.source-lines .code').count(), hasSource ? await page.locator('.source-lines tbody tr').count() : 0);
    await driver.go('functions?ranks=1');
    await page.getByText('of 1 rank').waitFor();
    await page.getByRole('treegrid').locator('tbody tr', { hasText: 'apply_stencil' }).first().click();
    await page.getByText('those of all ranks').waitFor();
    await hot.waitFor();
    await driver.go('functions?ranks=0-1&from=5&to=100000000');
    await page.getByText('cover more than the selection').waitFor();
    await driver.go('functions?lines=1');
    assert.match(await page.getByRole('treegrid').innerText(), /step:\d+/);
    await driver.go('functions?base=ranks:0');
    await page.getByText('compared with').waitFor();
    await driver.expectAccessible();
    await driver.expectExports();
}
