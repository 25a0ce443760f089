// Overview of a program with a known problem: the advice is there, with links to the source and the timeline.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function overview(driver) {
    const { page } = driver;
    await driver.go('overview');
    const figures = await page.getByText('Parallel efficiency').count();
    assert.ok(figures > 0, 'the efficiencies are there');
    const advice = page.locator('.advice li');
    assert.ok((await advice.count()) > 0, 'there is advice');
    assert.match(await advice.first().innerText(), /Saves\s[\s\S]*\sof the run/);
    assert.ok(await before(page, '.advice', 'text=Parallel efficiency'), 'the advice comes first');
    const hosts = page.getByRole('table', { name: 'Hosts' }).locator('tbody tr');
    assert.match(await hosts.first().innerText(), /\d.*MHz/s, 'the host is described');
    await page.getByRole('table', { name: 'Processors of the ranks' }).locator('tbody tr').first().waitFor();
    await advice
        .first()
        .getByRole('link', { name: /^Source at/ })
        .click();
    await page.locator('h1', { hasText: 'Call sites' }).waitFor();
    const site = await driver.param('site');
    assert.match(site ?? '', /^\d+$/, 'the call site is selected');
    await page.locator('.source mark').waitFor();
    await page.goBack();
    await advice.first().getByRole('link', { name: 'On the timeline' }).click();
    await page.locator('.timeline-canvas').waitFor();
    assert.equal(await driver.param('site'), site, 'the same place on the timeline');
    await page.keyboard.press('o');
    await leadsToTheLongestWait(driver);
    await page.keyboard.press('o');
    await page.locator('h1', { hasText: 'Overview' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await driver.expectAccessible();
    await page.keyboard.press('Escape');
    await changesTheme(driver);
}

/** All waits for the late sender take about the same time, so the window covers little more than one of them. */
async function leadsToTheLongestWait(driver) {
    const { page } = driver;
    await page.getByTitle('Show the longest late sender on the timeline').first().click();
    await page.locator('.timeline-canvas').waitFor();
    const [from, to] = await Promise.all(['from', 'to'].map((end) => driver.param(end)));
    assert.ok(Number(to) - Number(from) > 0, 'a window is chosen');
    await page.locator('.timeline-search select[name=wait]').selectOption('late_sender');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator('.timeline-search output', { hasText: /^MPI_\w+ on rank \d/ }).waitFor();
    await page.locator('.timeline-details', { hasText: /waited.*late sender/s }).waitFor();
    const call = Number((await driver.param('call')).split('@')[1]);
    assert.ok(Number(from) <= call && call < Number(to), 'the next one is the one that is shown');
}

/** Whether the first element is above or left of the other. */
async function before(page, first, other) {
    const [one, two] = await Promise.all([page.locator(first).first().boundingBox(), page.locator(other).first().boundingBox()]);
    return one.y + one.height <= two.y || (one.y <= two.y && one.x + one.width <= two.x);
}

async function changesTheme({ page }) {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const theme = page.getByLabel('Theme');
    await theme.selectOption('light');
    const light = await ground();
    await theme.selectOption('dark');
    assert.notEqual(await ground(), light, 'dark is another ground than light');
    await page.reload();
    await page.locator('h1').waitFor();
    assert.notEqual(await ground(), light, 'and the choice is kept');
    await page.getByLabel('Theme').selectOption('system');
}
