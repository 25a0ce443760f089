// How the main views look, on a recording that is kept: changes that nobody meant are seen here.

/** Each picture, and what it shows. */
const PICTURES = {
    overview: 'overview',
    timeline: 'timeline',
    'timeline-near': 'timeline?from=1600000000&to=1700000000&ranks=2-3',
    matrix: 'matrix',
    program: 'program',
    sites: 'sites',
};

/** @param {import('../visit.mjs').Visit} visit */
export default async function pictures(visit) {
    await visit.go('timeline');
    const waiting = visit.page.locator('.timeline-kinds tr', { hasText: 'waiting' }).locator('td');
    await visit.until('waits have been looked for', async () => !['', '…'].includes(await waiting.innerText()));
    for (const colorScheme of ['light', 'dark']) {
        await visit.page.emulateMedia({ colorScheme });
        for (const [name, address] of Object.entries(PICTURES)) {
            await visit.go(address);
            await visit.expectPicture(`${name}-${colorScheme}`);
        }
    }
}
