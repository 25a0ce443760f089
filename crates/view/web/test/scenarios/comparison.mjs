// Compares two recordings: efficiencies, differences of call sites, ranks.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function comparison(driver) {
    const { page } = driver;
    await driver.go('comparison');
    const heads = page.locator('.comparison-efficiencies thead th');
    assert.equal(await heads.count(), 2, 'a column for each run');
    const parts = page.getByRole('table', { name: 'Parts of the program that changed' });
    assert.ok((await parts.locator('tbody tr').count()) > 0, 'parts of the program changed');
    assert.match(await parts.locator('tbody tr').first().innerText(), /[+−]\d/, 'a change has a sign');
    const bars = page.getByRole('img', { name: /^Call sites by how much/ });
    await bars.waitFor();
    const texts = await bars.locator('text').allTextContents();
    assert.ok(
        texts.some((text) => /^[+−]\d/.test(text)),
        `differences have a sign: ${texts}`,
    );
    const drawn = await bars.innerHTML();
    const [from, to] = await page.locator('.comparison-pair select').all();
    await from.selectOption('1');
    await to.selectOption('0');
    assert.deepEqual([await driver.param('first'), await driver.param('second')], ['1', '0']);
    await driver.waitUntilIdle();
    await driver.waitFor('the other way round', async () => (await bars.innerHTML()) !== drawn);
    await page.getByText('All call sites').click();
    assert.ok((await page.getByRole('table', { name: 'Call sites in both runs' }).locator('tbody tr').count()) > 2);
    await page.getByRole('table', { name: 'Call sites in both runs' }).getByRole('link').first().click();
    await page.locator('h1', { hasText: 'Call sites' }).waitFor();
    assert.notEqual(await driver.param('site'), null, 'a call site leads to its source');
    await page.goBack();
    await page.getByRole('button', { name: 'weak' }).click();
    await page.getByText('constant work per rank').waitFor();
    await page.getByLabel('Select ranks').fill('1');
    await page.getByLabel('Select ranks').press('Enter');
    await driver.waitFor('ranks are selected', async () => (await driver.param('ranks')) === '1');
    await driver.expectAccessible();
    await driver.expectExports();
    await switchesRecordings(driver);
}

/** A selection is only meaningful in its own recording. */
async function switchesRecordings(driver) {
    const { page } = driver;
    await driver.go('sites?ranks=0&site=0&filter=MPI');
    await page.getByLabel('Recording').selectOption('1');
    await driver.waitUntilIdle();
    assert.equal(await driver.hash(), 'sites?recording=1');
}
