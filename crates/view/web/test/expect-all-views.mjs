// Expectations for every view, whatever the recording.
import assert from 'node:assert/strict';

/** Goes through all views; `more` checks each one further. @param {import('./page-driver.mjs').PageDriver} driver */
export async function expectAllViews(driver, more) {
    const { page } = driver;
    const views = await driver.views();
    assert.ok(views.includes('overview'), `there is an overview: ${views}`);
    for (const view of views) {
        await driver.go(view);
        const title = await page.locator('nav a[aria-current=page]').innerText();
        assert.equal((await page.locator('h1').innerText()).trim(), title.trim(), view);
        assert.ok((await page.locator('main').innerText()).length > 40, `${view} says something`);
        assert.equal(await page.getByText('could not be drawn').count(), 0, `${view} can be drawn`);
        assert.equal(await page.locator('[onclick], [onerror], [onload], main script').count(), 0, `${view}: names are text, not parts of the page`);
        await driver.expectNoHorizontalScroll();
        await more(view);
    }
}
