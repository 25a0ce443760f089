// Large screens and projectors: all text is larger, also in charts, and nothing is wider than the screen.
import assert from 'node:assert/strict';
import { expectAllViews } from '../expect-all-views.mjs';

const LEAST_PX = 14;

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function large(driver) {
    await driver.page.setViewportSize({ width: 2560, height: 1440 });
    await expectAllViews(driver, async (view) => {
        const charts = driver.page.locator('.chart svg[role=img]');
        const sizes = await charts.evaluateAll((all) => all.map((one) => Number.parseFloat(getComputedStyle(one).fontSize)));
        assert.ok(
            sizes.every((size) => size >= LEAST_PX),
            `${view}: letters of ${sizes} pixels`,
        );
    });
}
