// Replay view: dials trigger a replay and are stored in the address; a machine file adds more of them.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function replay(driver) {
    const { page } = driver;
    await driver.go('replay');
    const whole = page.locator('.replay-times');
    const before = await whole.innerText();
    assert.match(before, /Recorded/);
    const dial = page.getByRole('slider', { name: 'Computation time' });
    await dial.focus();
    for (let step = 0; step < 6; step++) await page.keyboard.press('ArrowRight');
    assert.equal(await driver.param('compute'), 'x100', 'the address says what is changed');
    await driver.waitFor('the run is replayed, and takes longer', async () => /\+[\d\u202f.]+ %/.test(await whole.innerText()));
    await driver.waitUntilIdle();
    assert.match(await page.locator('.replay-command code').innerText(), /--what-if 'compute=x100'/);
    const drawing = page.getByRole('img', { name: /^Activities of ranks, recorded: .*computing.*; replayed: .*computing/ });
    await drawing.waitFor();
    await driver.expectAccessible();
    await driver.expectExports();
    await page.getByText('All call sites').click();
    const sites = page.getByRole('table', { name: 'Call sites, recorded and replayed' });
    assert.ok((await sites.getByRole('link', { name: /:\d+$/ }).count()) > 0, 'call sites lead to their source');
    await page.locator('h1').click();
    await page.keyboard.press('o');
    await page.locator('h1', { hasText: 'Overview' }).waitFor();
    assert.equal(await driver.param('compute'), null, 'a dial belongs to its view');
    await page.keyboard.press('r');
    await page.locator('h1', { hasText: 'Replay' }).waitFor();
    assert.equal(await driver.param('compute'), 'x100', 'and is as it was left');
    await driver.go('replay?more=latancy=0');
    await page.getByText('did you mean').waitFor();
    assert.equal(driver.errors.splice(0).length, 1, 'the browser notes that the query was refused, as it should be');
    await page.getByRole('button', { name: 'Reset' }).click();
    await driver.waitFor(
        'as recorded again',
        async () => (await page.locator('.replay-times').count()) === 1 && (await driver.param('more')) === null,
    );
    await onTheMachine(driver);
}

async function onTheMachine(driver) {
    const { page } = driver;
    assert.equal(await page.getByRole('slider', { name: 'Eager limit' }).count(), 0, 'the recorded network does not know of it');
    await page.getByRole('group', { name: 'Network' }).getByRole('button').last().click();
    assert.equal(await driver.param('machine'), 'given');
    await page.getByRole('slider', { name: 'Eager limit' }).waitFor();
    await page.getByText(/^Replayed on/).waitFor();
    await page.getByLabel('Collectives').selectOption('mpich');
    await driver.waitUntilIdle();
    assert.equal(await driver.param('algorithm'), 'mpich');
    await driver.expectAccessible();
}
