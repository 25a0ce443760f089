// Matrix view: units and scales, mouse and keyboard navigation, selection shared with other views.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function matrix(driver) {
    const { page } = driver;
    await driver.go('matrix');
    const canvas = page.locator('.matrix-canvas');
    const picture = () => canvas.evaluate((drawn) => drawn.toDataURL());
    const changes = async (what, action) => {
        const before = await picture();
        await action();
        await driver.waitUntilIdle();
        await driver.waitFor(what, async () => (await picture()) !== before);
    };
    await canvas.waitFor();
    await canvas.focus();
    await changes('an arrow key marks a cell', () => page.keyboard.press('ArrowRight'));
    await page.keyboard.press('ArrowRight');
    assert.match(await page.locator('.read-out').innerText(), /rank 0 → rank 1/, 'and says what it holds');
    await changes('Enter selects its ranks', () => page.keyboard.press('Enter'));
    assert.equal(await driver.param('ranks'), '0-1');
    await page.locator('nav a', { hasText: 'Timeline' }).click();
    await page.locator('.timeline-canvas').waitFor();
    assert.equal(await driver.param('ranks'), '0-1', 'the timeline follows');
    await page.goBack();
    await canvas.focus();
    await changes('+ zooms in', () => page.keyboard.press('+'));
    await changes('0 shows all of it', () => page.keyboard.press('0'));
    await page.getByRole('group', { name: 'Unit' }).getByRole('button', { name: 'messages' }).click();
    assert.equal(await driver.param('unit'), 'messages');
    await page.getByRole('group', { name: 'Colours' }).getByRole('button', { name: 'linear' }).click();
    assert.equal(await driver.param('scale'), 'linear');
    const pairs = page.getByRole('table', { name: 'Heaviest pairs' }).locator('tbody tr');
    assert.ok((await pairs.count()) > 1, 'the heaviest pairs stand beside it');
    await changes('a row for each role', () => page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'role' }).click());
    await driver.expectExports();
    const cells = page.locator('.read-out', { hasText: /between \d+ pairs?\./ });
    await changes('and a row for each rank again', () => page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'rank' }).click());
    await cells.waitFor();
    assert.ok(await page.getByRole('button', { name: 'Whole matrix' }).isDisabled(), 'all of it is seen');
    await canvas.focus();
    await page.keyboard.press('+');
    await driver.waitFor('the address has the window', async () => (await driver.param('window')) !== null);
    await leavesKeysOfTheBrowser(page);
    await page.locator('h1').click();
    await page.keyboard.press('o');
    await page.locator('h1', { hasText: 'Overview' }).waitFor();
    await page.locator('nav a', { hasText: 'Matrix' }).click();
    await driver.waitFor(
        'the matrix is as it was left',
        async () => (await driver.param('window')) !== null && (await driver.param('unit')) === 'messages',
    );
}

/** Keys with a modifier belong to the browser. */
async function leavesKeysOfTheBrowser(page) {
    const isTaken = await page.evaluate(() => {
        const event = new KeyboardEvent('keydown', { key: '+', ctrlKey: true, bubbles: true, cancelable: true });
        return !document.querySelector('.matrix-canvas').dispatchEvent(event);
    });
    assert.equal(isTaken, false, 'Ctrl and + zooms the page');
}
