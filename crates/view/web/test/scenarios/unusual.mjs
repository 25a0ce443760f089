// Unusual recordings: no view fails.
import assert from 'node:assert/strict';
import { expectAllViews } from '../expect-all-views.mjs';

const HOSTILE = 'from=NaN&to=1e99&ranks=9-1&site=-5&recording=99&by=none&window=1,NaN,-3&order.Call%20sites=none';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function unusual(driver) {
    await expectAllViews(driver, async () => undefined);
    // Invalid or truncated addresses.
    for (const view of await driver.views()) {
        await driver.go(`${view}?${HOSTILE}`);
        assert.equal(await driver.page.getByText('could not be drawn').count(), 0, `${view} can be drawn`);
    }
}
