// Call site view: sorting, filtering, keyboard navigation, source panel.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function sites(driver) {
    const { page } = driver;
    await driver.go('sites');
    const rows = page.getByRole('grid', { name: 'Call sites' }).locator('tbody tr');
    const all = await rows.count();
    assert.ok(all > 3, 'every call site has a row');
    await rows.filter({ hasText: 'MPI_Recv' }).first().click();
    assert.equal(await driver.param('operation'), 'MPI_Recv');
    const marked = page.locator('.source mark');
    await marked.waitFor();
    assert.match(await marked.innerText(), /MPI_Recv\(/, 'the line of the source that calls it is marked');
    const site = await driver.param('site');
    await page.keyboard.press('ArrowDown');
    await driver.waitFor('the next one is selected', async () => (await driver.param('site')) !== site);
    await page.keyboard.press('/');
    await page.keyboard.type('finalize');
    await driver.waitFor('only matching rows are left', async () => (await rows.count()) === 1);
    await rows.first().click();
    await rows.first().press('Enter');
    await page.locator('.timeline-canvas').waitFor();
    assert.equal(await driver.param('operation'), 'MPI_Finalize', 'Enter shows it on the timeline');
    await driver.go(await driver.hash());
    assert.equal(await driver.param('operation'), 'MPI_Finalize', 'also from a shared link');
}
