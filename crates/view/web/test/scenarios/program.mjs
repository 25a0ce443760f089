// Program view: drawing, phases, roles and their links.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function program(driver) {
    const { page } = driver;
    await driver.go('program');
    const paper = page.locator('.paper');
    const drawing = page.locator('.drawing');
    assert.ok((await paper.locator('text').count()) > 4, 'operations are drawn');
    const before = await paper.getAttribute('style');
    await drawing.focus();
    await page.keyboard.press('+');
    await driver.waitFor('+ zooms in', async () => (await paper.getAttribute('style')) !== before);
    await page.keyboard.press('0');
    await driver.waitFor('0 shows all of it', async () => (await paper.getAttribute('style')) === before);
    await page.getByRole('button', { name: 'Fold all', exact: true }).click();
    const folded = paper.locator('g.unfold');
    await driver.waitFor('phases are folded', async () => (await folded.count()) > 0);
    const all = await folded.count();
    await folded.first().focus();
    await page.keyboard.press('Enter');
    const open = paper.locator('g.fold text[role=button]');
    await driver.waitFor('a phase unfolds', async () => (await open.count()) > 0 && (await driver.param('open')) !== null);
    await open.first().click();
    await driver.waitFor('and folds again', async () => (await folded.count()) === all && (await driver.param('open')) === '-');
    await page.getByRole('button', { name: 'Screenful' }).click();
    await driver.waitFor('a screenful is shown', async () => (await driver.param('open')) === null && (await open.count()) > 0);
    const roles = page.getByRole('table', { name: 'Roles' }).locator('tbody tr');
    assert.equal(await roles.count(), 2, 'the rank in the middle and those around it');
    await roles.filter({ hasText: '8 ranks' }).or(roles.first()).getByRole('link').first().click();
    await driver.waitFor('ranks are selected', async () => (await driver.param('ranks')) !== null);
    await page
        .getByRole('link', { name: / on the timeline$/ })
        .first()
        .click();
    await page.locator('.timeline-canvas').waitFor();
    assert.ok(
        (await driver.param('from')) !== null && (await driver.param('ranks')) !== null,
        'the timeline shows the phase, and the ranks stand out',
    );
    await page.goBack();
    await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'phases' }).click();
    await driver.waitUntilIdle();
    assert.equal(await driver.param('show'), 'phases');
    assert.ok((await paper.locator('text').count()) > 1, 'phases are drawn');
    await driver.expectAccessible();
    await driver.expectExports();
}
