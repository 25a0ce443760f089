// End-to-end tests in Chromium: `node test/run.mjs NAME ADDRESS` runs `scenarios/NAME.mjs` on the page at an address, served or a file.
//
// A scenario is a function of a `PageDriver`. It fails with an assertion, or if the page reported errors.
// It can export `launch` to change how Chromium is started.
import { chromium } from 'playwright-core';
import { PageDriver } from './page-driver.mjs';

const [name, address] = process.argv.slice(2);
if (!name || !address) {
    console.error('node test/run.mjs NAME ADDRESS: NAME is a file of test/scenarios, ADDRESS what `sintonia view` says');
    process.exit(2);
}
const { default: scenario, launch } = await import(`./scenarios/${name}.mjs`);
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--font-render-hinting=none'],
    ...launch,
});
try {
    const driver = await PageDriver.open(browser, address);
    try {
        await scenario(driver);
        driver.expectNoErrors();
    } catch (error) {
        await driver.saveScreenshot(name);
        throw error;
    }
} catch (error) {
    console.error(error instanceof Error ? error.stack : error);
    process.exitCode = 1;
} finally {
    await browser.close();
}
