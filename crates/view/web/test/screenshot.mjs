// Compares screenshots: shapes and colours must match, text may differ slightly.
//
// Both are scaled down first, so that other font or browser versions make little difference.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';

const STORED = new URL('pictures/', import.meta.url);
const SMALLER = 4;
/** Tolerated difference of a pixel, from 0 to 1, and tolerated share of pixels beyond it. */
const TOLERANCE = 0.12;
const MOST = 0.02;

/** @param {string} name @param {Buffer} seen */
export async function compareScreenshot(name, seen) {
    const now = smaller(PNG.sync.read(seen));
    const file = new URL(`${name}.png`, STORED);
    if (process.env.SINTONIA_UPDATE_PICTURES) {
        await mkdir(STORED, { recursive: true });
        await writeFile(file, PNG.sync.write(now));
        return;
    }
    const missing = `there is no stored screenshot ${name}: SINTONIA_UPDATE_PICTURES=1 creates it; check it before committing`;
    const before = PNG.sync.read(await readFile(file).catch(() => assert.fail(missing)));
    assert.deepEqual([now.width, now.height], [before.width, before.height], `${name}: the size of the screenshot`);
    const changes = new PNG({ width: now.width, height: now.height });
    const different = pixelmatch(before.data, now.data, changes.data, now.width, now.height, { threshold: TOLERANCE });
    const share = different / (now.width * now.height);
    if (share <= MOST) return;
    const sights = process.env.SINTONIA_SIGHTS ?? tmpdir();
    await writeFile(join(sights, `sintonia-${name}-now.png`), seen);
    await writeFile(join(sights, `sintonia-${name}-changes.png`), PNG.sync.write(changes));
    assert.fail(`${name}: ${(100 * share).toFixed(1)} % of the screenshot changed, see sintonia-${name}-now.png and -changes.png in ${sights}`);
}

/** Scales down by averaging squares of pixels. */
function smaller(large) {
    const small = new PNG({ width: Math.floor(large.width / SMALLER), height: Math.floor(large.height / SMALLER) });
    for (let y = 0; y < small.height; y++) {
        for (let x = 0; x < small.width; x++) {
            for (let part = 0; part < 4; part++) {
                let sum = 0;
                for (let at = 0; at < SMALLER * SMALLER; at++) {
                    const row = y * SMALLER + Math.floor(at / SMALLER);
                    sum += large.data[4 * (row * large.width + x * SMALLER + (at % SMALLER)) + part];
                }
                small.data[4 * (y * small.width + x) + part] = Math.round(sum / (SMALLER * SMALLER));
            }
        }
    }
    return small;
}
