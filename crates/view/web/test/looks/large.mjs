// On a large screen or a projector: letters grow, those of charts too, and nothing is wider than the screen.
import assert from 'node:assert/strict';
import { expectAllViews } from '../views.mjs';

const LEAST_PX = 14;

/** @param {import('../visit.mjs').Visit} visit */
export default async function large(visit) {
    await visit.page.setViewportSize({ width: 2560, height: 1440 });
    await expectAllViews(visit, async (view) => {
        const charts = visit.page.locator('.chart svg[role=img]');
        const sizes = await charts.evaluateAll((all) => all.map((one) => Number.parseFloat(getComputedStyle(one).fontSize)));
        assert.ok(sizes.every((size) => size >= LEAST_PX), `${view}: letters of ${sizes} pixels`);
    });
}
