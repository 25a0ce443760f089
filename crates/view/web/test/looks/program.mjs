// The program: its drawing, its phases and roles, and where they lead.
import assert from 'node:assert/strict';

/** @param {import('../visit.mjs').Visit} visit */
export default async function program(visit) {
    const { page } = visit;
    await visit.go('program');
    const paper = page.locator('.paper');
    const drawing = page.locator('.drawing');
    assert.ok((await paper.locator('text').count()) > 4, 'operations are drawn');
    const before = await paper.getAttribute('style');
    await drawing.focus();
    await page.keyboard.press('+');
    await visit.until('+ zooms in', async () => (await paper.getAttribute('style')) !== before);
    await page.keyboard.press('0');
    await visit.until('0 shows all of it', async () => (await paper.getAttribute('style')) === before);
    const roles = page.getByRole('table', { name: 'Roles' }).locator('tbody tr');
    assert.equal(await roles.count(), 2, 'the rank in the middle and those around it');
    await roles.filter({ hasText: '8 ranks' }).or(roles.first()).getByRole('link').first().click();
    await visit.until('ranks are selected', async () => (await visit.selected('ranks')) !== null);
    await page.getByRole('link', { name: / on the timeline$/ }).first().click();
    await page.locator('.timeline-canvas').waitFor();
    assert.ok((await visit.selected('from')) !== null && (await visit.selected('ranks')) !== null, 'the timeline shows the phase, and the ranks stand out');
    await page.goBack();
    await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'phases' }).click();
    await visit.settled();
    assert.equal(await visit.selected('show'), 'phases');
    assert.ok((await paper.locator('text').count()) > 1, 'phases are drawn');
    await visit.expectAccessible();
    await visit.expectSaves();
}
