// A program whose name contains HTML: it is displayed as text and not interpreted.
import assert from 'node:assert/strict';
import unusual from './unusual.mjs';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function names(driver) {
    await unusual(driver);
    await driver.go('overview');
    assert.match(await driver.page.locator('.top .name').innerText(), /<img src=x onerror=alert\(1\)>/);
    assert.equal(await driver.page.locator('img').count(), 0);
}
