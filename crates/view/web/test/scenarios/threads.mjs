// Ranks with several threads: where single calls are drawn, each thread has its own lane.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function threads(driver) {
    const { page } = driver;
    await driver.go('timeline');
    const canvas = page.locator('.timeline-canvas');
    await page.locator('.timeline-status', { hasText: 'each thread has a lane' }).waitFor();
    await page.getByText('of 2 ranks').waitFor();
    await page.getByRole('button', { name: 'Active span' }).click();
    await driver.waitUntilIdle();
    const axis = 26;
    const { height } = await canvas.boundingBox();
    // The main thread of rank 1 only initialises and finalises MPI; the other two receive at the same time.
    const lane = (number) => axis + (height - axis) * (0.5 + (number + 0.5) / 6);
    const at = async (number) => {
        const { width } = await canvas.boundingBox();
        await canvas.hover({ position: { x: 88 + 0.5 * (width - 88), y: lane(number) } });
        return (await page.locator('.timeline-tooltip').allInnerTexts()).join();
    };
    await driver.waitFor('a call of the second thread', async () => /MPI_Recv on rank 1, thread 1/.test(await at(1)));
    await driver.waitFor('and of the third, below it', async () => /MPI_Recv on rank 1, thread 2/.test(await at(2)));
    assert.doesNotMatch(await at(0), /MPI_Recv/, 'neither is drawn over the first');
    await page.mouse.down();
    await page.mouse.up();
    await driver.waitUntilIdle();
    const saved = await driver.downloadFrom(page.getByRole('button', { name: /^Save the data of/ }));
    assert.match(saved, /^rank,thread,/);
    assert.ok(
        saved.split('\r\n').some((line) => line.startsWith('1,2,')),
        'all threads are in the table',
    );
}
