// A program whose name would be a part of the page, if names were not text: it is shown as it is written, and does nothing.
import assert from 'node:assert/strict';
import odd from './odd.mjs';

/** @param {import('../visit.mjs').Visit} visit */
export default async function names(visit) {
    await odd(visit);
    await visit.go('overview');
    assert.match(await visit.page.locator('.top .name').innerText(), /<img src=x onerror=alert\(1\)>/);
    assert.equal(await visit.page.locator('img').count(), 0);
}
