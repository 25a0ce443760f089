// Two recordings side by side: efficiencies, call sites by how much they differ, ranks.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function comparison(visit) {
    const { page } = visit;
    await visit.go('comparison');
    const heads = page.locator('.comparison-efficiencies thead th');
    assert.equal(await heads.count(), 2, 'a column for each run');
    const bars = page.getByRole('img', { name: /^Call sites by how much/ });
    await bars.waitFor();
    const texts = await bars.locator('text').allTextContents();
    assert.ok(texts.some((text) => /^[+−]\d/.test(text)), `differences have a sign: ${texts}`);
    const drawn = await bars.innerHTML();
    const [from, to] = await page.locator('.comparison-pair select').all();
    await from.selectOption('1');
    await to.selectOption('0');
    assert.deepEqual([await visit.selected('first'), await visit.selected('second')], ['1', '0']);
    await visit.settled();
    await visit.until('the other way round', async () => (await bars.innerHTML()) !== drawn);
    await page.getByText('All call sites').click();
    assert.ok((await page.getByRole('table', { name: 'Call sites in both runs' }).locator('tbody tr').count()) > 2);
    await page.getByRole('table', { name: 'Call sites in both runs' }).getByRole('link').first().click();
    await page.locator('h1', { hasText: 'Call sites' }).waitFor();
    assert.notEqual(await visit.selected('site'), null, 'a call site leads to its source');
    await page.goBack();
    await page.getByRole('button', { name: 'the same for each rank' }).click();
    await page.getByText('as much work for each rank').waitFor();
    await page.getByLabel('Select ranks').fill('1');
    await page.getByLabel('Select ranks').press('Enter');
    await visit.until('ranks are selected', async () => (await visit.selected('ranks')) === '1');
    await visit.expectAccessible();
    await visit.expectSaves();
    await switchesRecordings(visit);
}

/** What is selected in one recording means nothing in another. */
async function switchesRecordings(visit) {
    const { page } = visit;
    await visit.go('sites?ranks=0&site=0&filter=MPI');
    await page.getByLabel('Recording').selectOption('1');
    await visit.settled();
    assert.equal(await visit.hash(), 'sites?recording=1');
}
