// Looks at the page as people do, in Chromium: `node test/run.mjs NAME ADDRESS` runs `looks/NAME.mjs` on the page at an address, served or a file.
//
// A look is a function of a visit (`visit.mjs`). It ends with a failure if what it says is not so, or if the page complained meanwhile.
// It can also say how Chromium is started: `launch`.
import { chromium } from 'playwright-core';
import { Visit } from './visit.mjs';

const [name, address] = process.argv.slice(2);
if (!name || !address) {
    console.error('node test/run.mjs NAME ADDRESS: NAME is a file of test/looks, ADDRESS what `sintonia view` says');
    process.exit(2);
}
const { default: look, launch } = await import(`./looks/${name}.mjs`);
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--font-render-hinting=none'],
    ...launch,
});
try {
    const visit = await Visit.begin(browser, address);
    try {
        await look(visit);
        visit.expectNoComplaint();
    } catch (error) {
        await visit.keepSight(name);
        throw error;
    }
} catch (error) {
    console.error(error instanceof Error ? error.stack : error);
    process.exitCode = 1;
} finally {
    await browser.close();
}
