// The replay: a dial is turned, the run is replayed, and all of it is in the address; on a machine file there is more to turn.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function replay(visit) {
    const { page } = visit;
    await visit.go('replay');
    const whole = page.locator('.replay-whole');
    const before = await whole.innerText();
    assert.match(before, /Recorded/);
    const dial = page.getByRole('slider', { name: 'Computation takes' });
    await dial.focus();
    for (let step = 0; step < 6; step++) await page.keyboard.press('ArrowRight');
    assert.equal(await visit.selected('compute'), 'x100', 'the address says what is changed');
    await visit.until('the run is replayed, and takes longer', async () => /\+[\d\u202f.]+ %/.test(await whole.innerText()));
    await visit.settled();
    assert.match(await page.locator('.replay-told code').innerText(), /--what-if 'compute=x100'/);
    const drawing = page.getByRole('img', { name: /^What ranks did, recorded: .*computing.*; replayed: .*computing/ });
    await drawing.waitFor();
    await visit.expectAccessible();
    await visit.expectSaves();
    await page.getByText('All call sites').click();
    const sites = page.getByRole('table', { name: 'Call sites, recorded and replayed' });
    assert.ok((await sites.getByRole('link', { name: /:\d+$/ }).count()) > 0, 'call sites lead to their source');
    await page.locator('h1').click();
    await page.keyboard.press('o');
    await page.locator('h1', { hasText: 'Overview' }).waitFor();
    assert.equal(await visit.selected('compute'), null, 'a dial belongs to its view');
    await page.keyboard.press('r');
    await page.locator('h1', { hasText: 'Replay' }).waitFor();
    assert.equal(await visit.selected('compute'), 'x100', 'and is as it was left');
    await visit.go('replay?more=latancy=0');
    await page.getByText('did you mean').waitFor();
    assert.equal(visit.complaints.splice(0).length, 1, 'the browser notes that the question was refused, as it should be');
    await page.getByRole('button', { name: 'Change nothing' }).click();
    await visit.until('as recorded again', async () => (await page.locator('.replay-whole').count()) === 1 && (await visit.selected('more')) === null);
    await onTheMachine(visit);
}

async function onTheMachine(visit) {
    const { page } = visit;
    assert.equal(await page.getByRole('slider', { name: 'Eager limit' }).count(), 0, 'the recorded network does not know of it');
    await page.getByRole('group', { name: 'Network' }).getByRole('button').last().click();
    assert.equal(await visit.selected('machine'), 'given');
    await page.getByRole('slider', { name: 'Eager limit' }).waitFor();
    await page.getByText(/^Replayed on/).waitFor();
    await page.getByLabel('Collectives').selectOption('mpich');
    await visit.settled();
    assert.equal(await visit.selected('algorithm'), 'mpich');
    await visit.expectAccessible();
}
