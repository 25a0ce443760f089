// A model: its curve, what was measured, what is predicted; other parameters, scales and ranges.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function scaling(visit) {
    const { page } = visit;
    await visit.go('scaling?over=p');
    await page.getByText(/^T = /).waitFor();
    const curve = page.getByRole('img', { name: /^time over p:/ });
    await curve.waitFor();
    assert.match(await page.locator('.scaling-best').innerText(), /Fastest number of processes: \d+/);
    const rows = page.getByRole('table', { name: 'Predictions' }).locator('tbody tr');
    const some = await rows.count();
    await page.getByLabel('Up to').selectOption('64');
    await visit.until('more is predicted', async () => (await rows.count()) > some);
    assert.equal(await visit.selected('times'), '64');
    const changes = async (what, deed) => {
        const drawn = await curve.innerHTML();
        await deed();
        await visit.settled();
        await visit.until(what, async () => (await curve.innerHTML()) !== drawn);
    };
    await changes('in proportion', () => page.getByRole('group', { name: 'Up' }).getByRole('button', { name: 'linear' }).click());
    await changes('for a larger problem', async () => {
        await page.getByLabel('n =').fill('40');
        await page.getByLabel('n =').press('Enter');
    });
    assert.equal(await visit.selected('at.n'), '40');
    await page.getByLabel('n =').fill('-1');
    await page.getByLabel('n =').press('Enter');
    await page.getByText('it must be more than 0').waitFor();
    assert.equal(visit.complaints.splice(0).length, 1, 'the browser notes that the question was refused, as it should be');
    assert.ok(await page.getByLabel('n =').evaluate((input) => input === document.activeElement), 'what was refused can be changed at once');
    await page.getByRole('button', { name: 'Usual values' }).click();
    await visit.settled();
    assert.equal(await page.getByText('it must be more than 0').count(), 0);
    await visit.go('scaling?over=p&at.n=40');
    await visit.expectAccessible();
    await visit.expectSaves();
    await page.getByRole('group', { name: 'Over' }).getByRole('button', { name: 'n', exact: true }).click();
    await page.getByRole('img', { name: /^time over n:/ }).waitFor();
}
