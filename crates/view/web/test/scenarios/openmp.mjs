// A program with MPI and OpenMP: threads have rows on the timeline, and the overview has their efficiencies and regions.
// Each rank executes ten times: a region in which thread 0 works for 8 ms and thread 1 for 2 ms, 4 ms of serial work, and a region with a critical section.
import assert from 'node:assert/strict';

const GUTTER = 88;
const AXIS = 26;

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function openmp(driver) {
    const { page } = driver;
    await showsThreads(driver);
    await showsRegions(driver);
    await exportsRegions(driver);
    await page.getByRole('button', { name: 'rank', exact: true }).click();
    await driver.waitFor('one row per rank', async () => /^2 rows/.test(await page.locator('.timeline-canvas').getAttribute('aria-label')));
    assert.equal(await driver.param('by'), 'rank');
    await driver.expectAccessible();
    await showsOverview(driver);
}

async function showsThreads(driver) {
    const { page } = driver;
    await driver.go('timeline');
    const canvas = page.locator('.timeline-canvas');
    await driver.waitFor('a row for each of four threads', async () => /^4 rows/.test(await canvas.getAttribute('aria-label')));
    await page.locator('.timeline-status', { hasText: '40 parallel regions' }).waitFor();
    await page.getByText('of 4 threads').waitFor();
    for (const kind of ['parallel', 'barrier', 'lock', 'idle']) {
        const row = page.locator('.timeline-kinds tr', { has: page.getByRole('button', { name: kind, exact: true }) });
        assert.match(await row.locator('td:last-child').innerText(), /[1-9]/, `there is ${kind}`);
    }
    await driver.expectAccessible();
}

/** Moves the pointer over the row of the second thread until the tooltip is that of a region, and reads it. */
async function showsRegions(driver) {
    const { page } = driver;
    await page.getByRole('button', { name: 'Active span' }).click();
    await driver.waitUntilIdle();
    const canvas = page.locator('.timeline-canvas');
    const { width, height } = await canvas.boundingBox();
    const y = AXIS + (height - AXIS) * (1.5 / 4);
    const found = new Map();
    for (let x = GUTTER + 2; x < width - 2; x += 3) {
        await canvas.hover({ position: { x, y } });
        const text = (await page.locator('.timeline-tooltip').allInnerTexts()).join('\n');
        const [, line] = /^parallel region .*hybrid\.c:(\d+)/m.exec(text) ?? [];
        found.set(line ?? (/idle/.test(text) ? 'idle' : 'else'), text);
    }
    const [unequal, exclusive] = [...found.keys()].filter((key) => /^\d+$/.test(key)).sort((one, other) => one - other);
    assert.ok(unequal !== undefined && exclusive !== undefined, `both regions are found: ${[...found.keys()]}`);
    assert.match(found.get(unequal), /rank 0, thread 1 of 2/);
    assert.match(found.get(unequal), /\d ms from/);
    const share = (text, what) => Number(new RegExp(`${what} ([\\d.]+)`).exec(text)?.[1] ?? 0);
    assert.ok(share(found.get(unequal), 'waited at its end') > share(found.get(unequal), 'computed'), found.get(unequal));
    assert.match(found.get(exclusive), /computed/);
    assert.ok(found.has('idle'), 'the thread is idle between regions');
}

async function exportsRegions(driver) {
    const saved = await driver.downloadFrom(driver.page.getByRole('button', { name: /^Save the data of/ }));
    const [head, ...rows] = saved.trimEnd().split('\r\n');
    const names = head.split(',');
    assert.deepEqual(names.slice(0, 5), ['rank', 'mpi_thread', 'thread', 'region', 'executions']);
    assert.equal(rows.length, 80, 'forty regions of two threads');
    const value = (row, name) => Number(row.split(',')[names.indexOf(name)]);
    const work = (thread) => {
        const line = Math.min(...rows.map((row) => Number(/:(\d+)/.exec(row)?.[1])));
        const own = rows.filter((row) => row.startsWith(`0,0,${thread},`) && row.includes(`:${line}`));
        return own.reduce((sum, row) => sum + value(row, 'useful_ns'), 0);
    };
    assert.ok(Math.abs(work(1) / work(0) - 2 / 8) < 0.1, `thread 1 works a quarter of the time: ${work(1)} and ${work(0)} ns`);
    const svg = await driver.downloadFrom(driver.page.getByRole('button', { name: /SVG$/ }).first());
    assert.match(svg, /0 thread 1/);
}

async function showsOverview(driver) {
    const { page } = driver;
    await driver.go('overview');
    await page.getByRole('heading', { name: 'MPI and OpenMP' }).waitFor();
    await page.getByText('2 threads per rank').waitFor();
    const regions = page.getByRole('table', { name: 'Parallel regions by time' }).locator('tbody tr');
    assert.equal(await regions.count(), 2);
    assert.match(await regions.first().innerText(), /hybrid\.c:\d+\s+20\s+2/);
    const waits = page.getByRole('table', { name: 'Why OpenMP threads did not compute' });
    assert.match(await waits.innerText(), /wait at OpenMP barrier/);
    assert.equal(await page.getByRole('table', { name: 'OpenMP threads by rank' }).locator('tbody tr').count(), 2);
    await driver.expectAccessible();
    await driver.expectNoHorizontalScroll();
    await driver.expectExports();
}
