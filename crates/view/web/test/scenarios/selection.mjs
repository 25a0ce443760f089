// A selection of time and ranks: overview, call sites and matrix show its figures, which are those of its single calls.
import assert from 'node:assert/strict';

/** @param {import('../page-driver.mjs').PageDriver} driver */
export default async function selection(driver) {
    const { page } = driver;
    const { begin_ns } = (await ask(driver, 'about')).recordings[0];
    const enters = (await ask(driver, `calls?from=${begin_ns}&most=200000`)).enter.sort((one, other) => one - other);
    // From the middle of one call on, so that a call is cut.
    const [from, to] = [0.3, 0.8].map((share) => begin_ns + 100 + enters[Math.floor(share * enters.length)]);
    const part = `from=${from}&to=${to}&ranks=0-1`;
    const calls = await ask(driver, `calls?${part}&most=200000`);
    const begun = calls.enter.flatMap((enter, index) => (enter >= 0 && enter < to - from ? [index] : []));
    assert.ok(begun.length > 10, 'there are calls in the window');

    await driver.go(`overview?${part}`);
    const figures = page.getByRole('region', { name: 'Selection' });
    const facts = async () => (await figures.locator('dl.facts').innerText()).replace(/\s+/g, ' ');
    await driver.waitFor('the number of calls of the selection', async () => (await facts()).includes(`MPI calls ${grouped(begun.length)}`));
    assert.match(await facts(), /ranks 2/);
    await figures.getByText('Parallel efficiency').waitFor();
    await figures.getByRole('table', { name: 'Wait states' }).waitFor();
    await page.getByRole('heading', { name: 'Whole run' }).waitFor();
    await driver.expectAccessible();
    await driver.expectNoHorizontalScroll();

    await driver.go(`sites?${part}`);
    await page.getByText('These figures cover the selected time and ranks.').waitFor();
    const operation = calls.names[calls.operation[begun[0]]];
    const expected = begun.filter((index) => calls.names[calls.operation[index]] === operation).length;
    const rows = page.getByRole('grid', { name: 'Call sites' }).locator('tbody tr');
    const counted = async () => {
        const cells = await rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
        const own = cells.filter(([name]) => name?.trim() === operation);
        return own.reduce((sum, cells) => sum + Number((cells[3] ?? '').replace(/\D/g, '')), 0);
    };
    await driver.waitFor(`${expected} calls of ${operation}`, async () => (await counted()) === expected);
    await driver.expectAccessible();

    await driver.go(`matrix?${part}`);
    await page.getByText('These figures cover the selected time;').waitFor();
    const [inPart, whole] = [await ask(driver, `communication?from=${from}&to=${to}`), await ask(driver, 'communication')];
    const sum = (/** @type {number[]} */ numbers) => numbers.reduce((all, one) => all + one, 0);
    assert.ok(sum(inPart.messages) > 0 && sum(inPart.messages) < sum(whole.messages), 'a part of the messages is sent in the window');
    await page.getByRole('button', { name: 'messages' }).click();
    const total = `${grouped(sum(inPart.messages))} messages between`;
    await driver.waitFor(total, async () => (await page.locator('.read-out').innerText()).includes(total));
    await driver.expectAccessible();

    await driver.go(`sites?${part}`);
    await driver.waitFor('the call sites of the selection again', async () => (await counted()) === expected);
    await page.getByRole('button', { name: /^Clear/ }).click();
    await driver.waitUntilIdle();
    assert.equal(await page.getByText('These figures cover').count(), 0, 'without a selection they are those of the run');
    assert.ok((await counted()) >= expected);
}

/** Asks the server as the page does. */
async function ask({ page }, query) {
    return page.evaluate(async (query) => {
        const headers = { 'X-Sintonia-Token': new URLSearchParams(location.search).get('token') ?? '' };
        for (;;) {
            const answer = await fetch(`/api/0/${query}`, { headers });
            if (answer.status === 200) return answer.json();
            if (answer.status !== 202) throw new Error(`${query}: ${answer.status} ${await answer.text()}`);
            await new Promise((done) => setTimeout(done, 200));
        }
    }, query);
}

/** A number as the page writes it. */
const grouped = (number) => number.toLocaleString('en-US').replaceAll(',', ' ');
