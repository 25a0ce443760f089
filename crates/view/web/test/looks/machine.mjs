// A machine file: what messages and operations of groups take, its nodes.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function machine(visit) {
    const { page } = visit;
    await visit.go('machine');
    await page.locator('.machine-facts').waitFor();
    const curves = page.getByRole('img', { name: /^Messages between nodes: time over bytes/ });
    await curves.waitFor();
    const lines = () => curves.locator('path').count();
    const before = await lines();
    const shown = page.getByRole('group', { name: /^Operations shown in “Messages between nodes”/ }).getByRole('button');
    const pressed = await shown.first().getAttribute('aria-pressed');
    await shown.first().click();
    assert.notEqual(await shown.first().getAttribute('aria-pressed'), pressed);
    await visit.until('a line more or less', async () => (await lines()) !== before);
    assert.notEqual(await visit.selected('show-between nodes'), null, 'what is shown is in the address');
    await page.getByText('Pieces and how well they fit').first().click();
    await page.getByRole('table', { name: 'Messages between nodes' }).waitFor();
    await visit.expectAccessible();
    await visit.expectSaves();
}
