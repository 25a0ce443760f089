// What holds for every view: it draws, in light and dark; it can be used by all; its charts can be saved.
import { expectAllViews } from '../views.mjs';

/** @param {import('../visit.mjs').Visit} visit */
export default async function every(visit) {
    await expectAllViews(visit, async () => {
        for (const colorScheme of ['light', 'dark']) {
            await visit.page.emulateMedia({ colorScheme });
            await visit.settled();
            await visit.expectAccessible();
        }
        await visit.page.emulateMedia({ colorScheme: 'light' });
        await visit.expectSaves();
    });
}
