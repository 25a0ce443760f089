// Compares screenshots of the main views of a stored recording, to detect unintended changes.

/** Screenshots and the addresses they show. */
const SCREENSHOTS = {
    overview: 'overview',
    timeline: 'timeline',
    'timeline-near': 'timeline?from=1600000000&to=1700000000&ranks=2-3',
    matrix: 'matrix',
    program: 'program',
    sites: 'sites',
};

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function screenshots(driver) {
    await driver.expectScreenshots(SCREENSHOTS);
}
