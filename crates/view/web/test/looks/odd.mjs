// A recording that is unusual: every view says what there is to say, and none fails.
import assert from 'node:assert/strict';
import { expectAllViews } from '../views.mjs';

const HOSTILE = 'from=NaN&to=1e99&ranks=9-1&site=-5&recording=99&by=none&window=1,NaN,-3&order.Call%20sites=none';

/** @param {import('../visit.mjs').Visit} visit */
export default async function odd(visit) {
    await expectAllViews(visit, async () => undefined);
    // An address that somebody wrote, or cut in two.
    for (const view of await visit.views()) {
        await visit.go(`${view}?${HOSTILE}`);
        assert.equal(await visit.page.getByText('could not be drawn').count(), 0, `${view} can be drawn`);
    }
}
