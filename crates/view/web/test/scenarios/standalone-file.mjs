// The file written by `report --html`: the same page with embedded answers and without a server.
import assert from 'node:assert/strict';
import allViews from './all-views.mjs';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function file(driver) {
    const { page } = driver;
    await page.context().setOffline(true);
    const views = await driver.views();
    for (const view of ['overview', 'timeline', 'matrix', 'program', 'sites']) assert.ok(views.includes(view), `${view} is there: ${views}`);
    await allViews(driver);
    await page.emulateMedia({ colorScheme: 'light' });
    await driver.go('timeline');
    const canvas = page.locator('.timeline-canvas');
    const length = async () => {
        const [from, to] = ((await canvas.getAttribute('data-drawn')) ?? '').split('-').map(Number);
        return to - from;
    };
    await driver.waitFor('the whole run is drawn', async () => (await length()) > 0);
    const whole = await length();
    await canvas.focus();
    for (let step = 0; step < 30; step++) await page.keyboard.press('+');
    await driver.waitFor('it zooms in', async () => (await length()) < whole / 5);
    await page.getByText('maximum zoom of this file').waitFor();
    await page.getByRole('button', { name: 'Whole run' }).click();
    await driver.waitFor('and out again', async () => (await length()) === whole);
}
