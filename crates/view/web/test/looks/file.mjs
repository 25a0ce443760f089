// The file that `report --html` writes: the same page over a summary, without anybody who answers.
import assert from 'node:assert/strict';
import every from './every.mjs';

/** @param {import('../visit.mjs').Visit} visit */
export default async function file(visit) {
    const { page } = visit;
    await page.context().setOffline(true);
    const views = await visit.views();
    for (const view of ['overview', 'timeline', 'matrix', 'program', 'sites']) assert.ok(views.includes(view), `${view} is there: ${views}`);
    await every(visit);
    await page.emulateMedia({ colorScheme: 'light' });
    await visit.go('timeline');
    const canvas = page.locator('.timeline-canvas');
    const length = async () => {
        const [from, to] = ((await canvas.getAttribute('data-drawn')) ?? '').split('-').map(Number);
        return to - from;
    };
    await visit.until('the whole run is drawn', async () => (await length()) > 0);
    const whole = await length();
    await canvas.focus();
    for (let step = 0; step < 30; step++) await page.keyboard.press('+');
    await visit.until('it zooms in', async () => (await length()) < whole / 5);
    await page.getByText('this file tells no more').waitFor();
    await page.getByRole('button', { name: 'Whole run' }).click();
    await visit.until('and out again', async () => (await length()) === whole);
}
