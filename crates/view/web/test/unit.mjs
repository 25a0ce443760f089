// Unit tests without a browser: time spans, axes, shares, sets of ranks, number formats, tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './load.mjs';

const span = await load('views/timeline/time-span.ts');
const scene = await load('views/timeline/scene.ts');
const ranks = await load('ranks.ts');
const units = await load('units.ts');
const { toCsv } = await load('charts/csv.ts');
const { uniqueNames } = await load('unique-names.ts');
const { depthOf } = await load('depth.ts');

test('a window stays within the run and is never too short', () => {
    const whole = { from: 100, to: 1100 };
    assert.deepEqual(span.clampSpan({ from: -500, to: 0 }, whole, 50), { from: 100, to: 600 });
    assert.deepEqual(span.clampSpan({ from: 1050, to: 1250 }, whole, 50), { from: 900, to: 1100 });
    assert.deepEqual(span.clampSpan({ from: 500, to: 501 }, whole, 50), { from: 475, to: 526 });
    assert.deepEqual(span.clampSpan({ from: -5000, to: 5000 }, whole, 50), whole);
});

test('zooming leaves the moment under the pointer where it is', () => {
    const near = span.zoomSpan({ from: 0, to: 1000 }, 0.5, 200);
    assert.deepEqual(near, { from: 100, to: 600 });
    assert.equal((200 - near.from) / span.durationOf(near), 0.2);
});

test('marks of an axis are round, in one unit, and as fine as the window needs', () => {
    assert.deepEqual(
        span.axisTicks({ from: 0, to: 1_000_000_000 }, 5).map((tick) => tick.label),
        ['0.0 s', '0.2 s', '0.4 s', '0.6 s', '0.8 s', '1.0 s'],
    );
    const near = span.axisTicks({ from: 1_500_000_000, to: 1_500_000_100 }, 2).map((tick) => tick.label);
    assert.deepEqual(near, ['1.50000000 s', '1.50000005 s', '1.50000010 s']);
    assert.deepEqual(
        span.axisTicks({ from: 0, to: 40 }, 2).map((tick) => tick.label),
        ['0 ns', '20 ns', '40 ns'],
    );
});

/** A raster of two rows with four cells each. */
const raster = (from, to, kind = [1, 1, 2, 2, 1, 1, 1, 1]) => ({
    requestedSpan: { from, to },
    span: { from, to },
    columns: 4,
    rows: [
        { label: '0', ranks: [0] },
        { label: '1', ranks: [1] },
    ],
    kinds: ['absent', 'computing', 'sending'],
    kind: Uint8Array.from(kind),
    share: new Uint8Array(8).fill(255),
    waiting: undefined,
    path: undefined,
});

test('the shares of a window are those of its cells', () => {
    assert.deepEqual(scene.activityShares(raster(0, 400), { from: 0, to: 400 }).kinds, [0, 0.75, 0.25]);
    assert.deepEqual(scene.activityShares(raster(0, 400), { from: 200, to: 400 }).kinds, [0, 0.5, 0.5]);
});

test('what is not the largest of its cell counts as mixed', () => {
    const half = { ...raster(0, 400), share: new Uint8Array(8).fill(51) };
    assert.ok(Math.abs(scene.activityShares(half, half.span).mixed - 0.8) < 1e-9);
});

test('before the raster of a window arrives, others are drawn, coarsest first', () => {
    const [whole, part, fine] = [raster(0, 1000), raster(0, 500), raster(300, 400)];
    const drawn = scene.rasterLayers([fine, part, whole], { from: 200, to: 450 });
    assert.deepEqual(
        drawn.map((one) => one.span.to),
        [500, 400],
    );
    assert.deepEqual(scene.rasterLayers([fine, part, whole], part.span), [part], 'then it alone');
    assert.deepEqual(scene.rasterLayers([fine, part], { from: 2000, to: 3000 }), []);
});

test('sets of ranks are read and written', () => {
    assert.deepEqual(ranks.parseRanks('0-2, 7,1', 8), [0, 1, 2, 7]);
    assert.deepEqual(ranks.parseRanks('5-99', 8), [5, 6, 7]);
    assert.deepEqual(ranks.parseRanks('x,-1,', 8), []);
    assert.equal(ranks.formatRanks([0, 1, 2, 7]), '0-2,7');
    for (const [list, text, address] of [
        [[0, 2], '0, 2', '0,2'],
        [[0, 1, 2, 7], '0-2, 7', '0-2,7'],
        [[0, 4, 8, 12, 16, 20], '0, 4, 8, …, 20', '0,4,8,12,16,20'],
        [[3], '3', '3'],
    ]) {
        assert.equal(ranks.displayRanks(list), text);
        assert.equal(ranks.ranksInText(`ranks ${text}`), address);
    }
});

test('numbers for people have three figures and a unit', () => {
    assert.equal(units.nanoseconds(1_234_567), '1.23 ms');
    assert.equal(units.bytes(4096), '4.10 kB');
    assert.equal(units.percent(0.055), '5.5 %');
});

test('a table keeps what would break it in quotes', () => {
    assert.equal(toCsv({ columns: ['a', 'b'], rows: [['x,y', 'say "hi"']] }), 'a,b\r\n"x,y","say ""hi"""\r\n');
});

const windows = await load('views/matrix/matrix-window.ts');
const { buildMatrix } = await load('views/matrix/matrix.ts');
const { callSiteRows } = await load('views/sites/call-sites.ts');
const location = await load('links/source-location.ts');

test('the matrix zooms around the cell that is pointed at and never beyond its edges', () => {
    const near = windows.zoomWindow(windows.wholeMatrix(100), 0.5, 20, 60, 100);
    assert.deepEqual(near, { x: 10, y: 30, span: 50 });
    assert.deepEqual(windows.zoomWindow(near, 4, 20, 60, 100), windows.wholeMatrix(100));
    assert.deepEqual(windows.zoomWindow({ x: 0, y: 0, span: 3 }, 0.1, 0, 0, 100), { x: 0, y: 0, span: 2 });
    assert.deepEqual(windows.scrollToCell({ x: 10, y: 30, span: 50 }, 0, 99, 100), { x: 50, y: 0, span: 50 });
});

test('the matrix adds up what each label sends and receives', () => {
    const answer = { labels: ['a', 'b'], ranks: ['0', '1'], from: [0, 0, 1], to: [0, 1, 0], bytes: [0, 8, 2], messages: [1, 1, 2], seconds: null };
    const bytes = buildMatrix(answer, 'bytes');
    assert.deepEqual([bytes.sent, bytes.received, bytes.total], [[8, 2], [2, 8], 10]);
    assert.deepEqual([bytes.min, bytes.max], [2, 8], 'a message of no bytes is not the least');
    assert.equal(bytes.pairAt(0, 1)?.value, 8);
    assert.equal(bytes.pairAt(1, 1), undefined);
    assert.equal(buildMatrix(answer, 'seconds').unit, 'bytes', 'times that are not known are not shown');
});

const main = { file: '/home/me/solver/cg.c', line: 40, function: 'main', module: '/home/me/cg' };
const bare = { file: null, line: null, function: 'work', module: '/opt/lib/solve.cpython-311-x86_64.so' };
const recorded = { sites: [main, bare, { ...main }] };

test('a place is called as the report calls it', () => {
    assert.equal(location.locationName(main), 'solver/cg.c:40');
    assert.equal(location.locationName(bare), 'work in solve');
    assert.equal(location.locationName({ ...bare, function: null, offset: 0x13b0 }), '0x13b0 in solve');
});

test('a place is found by its name, with its folder or without', () => {
    const names = ['solver/cg.c:40', 'cg.c:40', 'work in solve', 'g.c:40'];
    assert.deepEqual(
        names.map((name) => location.findLocation(recorded, name)),
        [main, main, bare, undefined],
    );
});

test('several calls on one line are one place', () => {
    assert.equal(location.siteIndexAt(recorded, main), 0);
    assert.deepEqual(location.siteIndicesAt(recorded, 2), [0, 2]);
    assert.equal(location.siteIndexAt(recorded, { ...main, line: 41 }), undefined);
});

test('a call site has the waits of its operation', () => {
    const sums = { calls: 1, bytes: 0 };
    const waits = { ...main, operation: 'MPI_Recv' };
    const rows = callSiteRows(
        {
            call_sites: [
                { ...main, operation: 'MPI_Recv', seconds: 3, ...sums },
                { ...main, operation: 'MPI_Send', seconds: 1, ...sums },
            ],
            wait_states: [
                { ...waits, name: 'late sender', seconds: 2 },
                { ...waits, name: 'late sender, wrong order', seconds: 0.5 },
            ],
            per_rank: [{ mpi_s: 4, outside_s: 6 }],
        },
        recorded,
    );
    assert.deepEqual(
        rows.map((row) => [row.operation, row.siteIndex, row.share, row.waits_s]),
        [
            ['MPI_Recv', 0, 0.3, 2.5],
            ['MPI_Send', 0, 0.1, 0],
        ],
    );
    assert.deepEqual(rows[0].waits, ['late sender', 'late sender, wrong order']);
});

test('names that stand twice have their number', () => {
    assert.deepEqual(uniqueNames(['a', 'b']), ['a', 'b']);
    assert.deepEqual(uniqueNames(['a', 'b', 'a']), ['1: a', 'b', '3: a']);
});

test('a phase is as deep as there are phases above it, and a circle has an end', () => {
    const above = (one) => one.above;
    const all = [{ above: null }, { above: 0 }, { above: 1 }];
    assert.deepEqual(
        all.map((one) => depthOf(all, one, above)),
        [0, 1, 2],
    );
    const circle = [{ above: 1 }, { above: 0 }];
    assert.equal(depthOf(circle, circle[0], above), 2);
});

test('a window of the matrix comes back from the address, and a wrong one is the whole', () => {
    const window = { x: 4, y: 8.25, span: 16 };
    assert.deepEqual(windows.parseWindow(windows.formatWindow(window), 64), window);
    const wrong = [undefined, '', '1,2', '0,0,-4', 'a,b,c', '0,0,Infinity'];
    for (const text of wrong) assert.deepEqual(windows.parseWindow(text, 64), windows.wholeMatrix(64), text);
    assert.deepEqual(windows.parseWindow('100,-3,8', 64), { x: 56, y: 0, span: 8 });
});

test('time ranges have enough digits to distinguish their ends', () => {
    assert.equal(units.timeRange(0, 14_200_000_000), '0.0 s to 14.2 s');
    assert.equal(units.timeRange(1_500_000_000, 1_500_001_000), '1.50000000 s to 1.50000100 s');
    assert.equal(units.timeRange(0, 40), '0 ns to 40 ns', 'nothing is finer than a nanosecond');
});

test('figures at an axis have no zeros at their end', () => {
    assert.deepEqual(['8.00 s', '2.50 s', '100 s', '10.0 ms', '0 s', '+1.00 s'].map(units.trimZeros), [
        '8 s',
        '2.5 s',
        '100 s',
        '10 ms',
        '0 s',
        '+1 s',
    ]);
});

test('times are read as people write them', () => {
    assert.deepEqual(['1.5 ms', '2us', '.5', '7 ns'].map(units.parseTime), [1_500_000, 2000, 500_000_000, 7]);
    assert.deepEqual(['', 'soon', '1 h', '-1 s', '1e3'].map(units.parseTime), [undefined, undefined, undefined, undefined, undefined]);
});

const { equalRuns } = await load('views/timeline/equal-runs.ts');

test('cells that look alike are put together', () => {
    const kinds = [1, 1, 2, 1];
    assert.deepEqual(
        equalRuns(0, 4, (one, next) => kinds[one] === kinds[next]),
        [
            [0, 2],
            [2, 3],
            [3, 4],
        ],
    );
    assert.deepEqual(
        equalRuns(1, 1, () => true),
        [],
    );
});

test('where single calls are seen, the height tells which thread is meant', () => {
    const call = (thread) => ({ rank: 0, thread, enter: 0, leave: 100, kind: 1 });
    const size = { width: 188, gutter: 88, axis: 26, height: 66 };
    const seen = { ...size, span: { from: 0, to: 100 }, rows: [{ label: '0', ranks: [0] }], kinds: [], hiddenKinds: new Set() };
    const threads = { ...seen, calls: [call(0), call(1)] };
    assert.deepEqual(
        [30, 60].map((y) => scene.callAt(threads, 0, 50, y)?.thread),
        [0, 1],
    );
    assert.equal(scene.callAt({ ...seen, calls: [call(0)] }, 0, 50, 60)?.thread, 0, 'one thread has all of the row');
});

// The address module registers event listeners when it is loaded.
Object.assign(globalThis, { location: { hash: '' }, addEventListener: () => undefined, history: {} });
const address = await load('state/address.ts');

test('an address comes back as it was written', () => {
    const selection = {
        recording: 1,
        from: 5,
        to: 9,
        ranks: '0-3',
        site: 2,
        operation: 'MPI_Send',
        viewParams: { unit: 'seconds', more: 'a=b & c' },
    };
    const given = { view: 'matrix', selection };
    assert.deepEqual(address.parseHash(address.formatHash(given)), given);
    assert.deepEqual(address.parseHash(''), { view: 'overview', selection: { recording: 0, viewParams: {} } });
});

test('an invalid address selects nothing', () => {
    const wrong = ['from=3', 'to=3', 'from=9&to=3', 'from=NaN&to=5', 'from=1&to=Infinity', 'site=', 'recording=-2', 'recording=x', 'from=&to='];
    for (const text of wrong) assert.deepEqual(address.parseHash(`#timeline?${text}`).selection, { recording: 0, viewParams: {} }, text);
});
