// Compares screenshots of a stored recording with samples and OpenMP regions: functions, their source, and threads on the timeline.

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function screenshotsHybrid(driver) {
    await driver.expectScreenshots({
        functions: 'functions',
        'functions-callers': 'functions?tree=callers',
        'functions-source': [await addressOfSource(driver), '.functions'],
        'functions-compared': 'functions?ranks=1&base=ranks:0',
        threads: 'timeline?from=560000000&to=880000000',
        'threads-near': 'timeline?from=640000000&to=690000000&ranks=1',
    });
}

/** The address at which the source of the function with the most time is shown. */
async function addressOfSource(driver) {
    await driver.go('functions');
    const rows = driver.page.getByRole('treegrid').locator('tbody tr');
    await rows.filter({ hasText: 'conductivity' }).first().click();
    await driver.waitFor('the function is in the address', async () => (await driver.param('function')) !== null);
    return driver.hash();
}
