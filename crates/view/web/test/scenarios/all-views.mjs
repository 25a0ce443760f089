// Every view: draws in light and dark, is accessible, and its charts can be saved.
import { expectAllViews } from '../expect-all-views.mjs';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function allViews(driver) {
    await expectAllViews(driver, async () => {
        for (const colorScheme of ['light', 'dark']) {
            await driver.page.emulateMedia({ colorScheme });
            await driver.waitUntilIdle();
            await driver.expectAccessible();
        }
        await driver.page.emulateMedia({ colorScheme: 'light' });
        await driver.expectExports();
    });
}
