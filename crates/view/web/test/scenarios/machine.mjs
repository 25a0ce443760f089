// Machine view: cost of messages and collectives, nodes.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function machine(driver) {
    const { page } = driver;
    await driver.go('machine');
    await page.locator('.machine-facts').waitFor();
    const curves = page.getByRole('img', { name: /^Messages between nodes: time over bytes/ });
    await curves.waitFor();
    const lines = () => curves.locator('path').count();
    const before = await lines();
    const shown = page.getByRole('group', { name: /^Operations shown in “Messages between nodes”/ }).getByRole('button');
    const pressed = await shown.first().getAttribute('aria-pressed');
    await shown.first().click();
    assert.notEqual(await shown.first().getAttribute('aria-pressed'), pressed);
    await driver.waitFor('a line more or less', async () => (await lines()) !== before);
    assert.notEqual(await driver.param('show-between nodes'), null, 'what is shown is in the address');
    await page.getByText('Pieces and quality of fit').first().click();
    await page.getByRole('table', { name: 'Messages between nodes' }).waitFor();
    await driver.expectAccessible();
    await driver.expectExports();
}
