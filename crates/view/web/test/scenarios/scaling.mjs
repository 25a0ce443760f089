// Scaling view: curve, measurements and predictions; other parameters, axes and ranges.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function scaling(driver) {
    const { page } = driver;
    await driver.go('scaling?over=p');
    await page.getByText(/^T = /).waitFor();
    const curve = page.getByRole('img', { name: /^time over p:/ });
    await curve.waitFor();
    assert.match(await page.locator('.scaling-best').innerText(), /Fastest number of processes: \d+/);
    const rows = page.getByRole('table', { name: 'Predictions' }).locator('tbody tr');
    const some = await rows.count();
    await page.getByLabel('Up to').selectOption('64');
    await driver.waitFor('more is predicted', async () => (await rows.count()) > some);
    assert.equal(await driver.param('times'), '64');
    const changes = async (what, action) => {
        const drawn = await curve.innerHTML();
        await action();
        await driver.waitUntilIdle();
        await driver.waitFor(what, async () => (await curve.innerHTML()) !== drawn);
    };
    await changes('in proportion', () => page.getByRole('group', { name: 'y axis' }).getByRole('button', { name: 'linear' }).click());
    await changes('for a larger problem', async () => {
        await page.getByLabel('n =').fill('40');
        await page.getByLabel('n =').press('Enter');
    });
    assert.equal(await driver.param('at.n'), '40');
    await page.getByLabel('n =').fill('-1');
    await page.getByLabel('n =').press('Enter');
    await page.getByText('must be greater than 0').waitFor();
    assert.equal(driver.errors.splice(0).length, 1, 'the browser notes that the query was refused, as it should be');
    assert.ok(await page.getByLabel('n =').evaluate((input) => input === document.activeElement), 'what was refused can be changed at once');
    await page.getByRole('button', { name: 'Default values' }).click();
    await driver.waitUntilIdle();
    assert.equal(await page.getByText('must be greater than 0').count(), 0);
    await driver.go('scaling?over=p&at.n=40');
    await driver.expectAccessible();
    await driver.expectExports();
    await page.getByRole('group', { name: 'Over' }).getByRole('button', { name: 'n', exact: true }).click();
    await page.getByRole('img', { name: /^time over n:/ }).waitFor();
}
