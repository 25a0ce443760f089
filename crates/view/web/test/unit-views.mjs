// Unit tests of replay, tuning, placement and machine views: what-if text, log series, layout, curves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './load.mjs';

const replay = await load('views/replay/what-if.ts');
const tuning = await load('views/tuning/series.ts');
const hosts = await load('views/placement/host-layout.ts');
const colours = await load('views/placement/host-colours.ts');
const machine = await load('views/machine/curves.ts');
const { bindingRows } = await load('views/overview/bindings.ts');
const regions = await load('views/timeline/thread-regions.ts');
const { textColourOn } = await load('charts/contrast.ts');

test('the what-if text contains the changes, without those that need a machine', () => {
    const chosen = { latency: 'x2', eager: '64KiB', balance: 'perfect', nodes: '4', more: ' segment a.c:1 x0.5 ' };
    assert.equal(replay.whatIfText(chosen), 'latency=x2,balance=perfect,segment a.c:1 x0.5');
    assert.equal(replay.whatIfText({ ...chosen, machine: 'given' }), 'latency=x2,eager=64KiB,balance=perfect,nodes=4,segment a.c:1 x0.5');
    assert.equal(replay.whatIfText({}), '');
});

test('ranks with the same processors and limits are one row, and threads are named where they differ', () => {
    const thread = (number, affinity, affinity_at_end) => ({ thread: number, affinity, affinity_at_end });
    const limits = (throttled_ns) => ({ cpu_quota: 1.5, throttled_ns });
    const resources = [
        { rank: 0, threads: [thread(0, '0-1'), thread(1, '0-1')], limits: limits(5) },
        { rank: 1, threads: [thread(0, '0-1')], limits: limits(7) },
        { rank: 2, threads: [thread(0, '0-1'), thread(1, '1', '0'), thread(2, '0-1')] },
        { rank: 3, threads: [thread(0, '0-1')] },
    ];
    const per_rank = [0, 1, 2, 3].map((rank) => ({ rank, host: rank < 3 ? 'a' : 'b' }));
    assert.deepEqual(
        bindingRows({ resources, per_rank }).map((row) => [row.ranks, row.host, row.threads, row.affinity, row.affinityAtEnd, row.limits]),
        [
            [[0, 1], 'a', '', '0-1', null, limits(7)],
            [[2], 'a', '0,2', '0-1', null, undefined],
            [[2], 'a', '1', '1', '0', undefined],
            [[3], 'b', '', '0-1', null, undefined],
        ],
    );
});

test('a dial says what its position comes to', () => {
    const [latency, bandwidth] = replay.DIALS;
    const network = { latency_s: 2e-6, s_per_byte: 1e-9 };
    assert.equal(replay.positionLabel(latency, 'x10', network), '× 10 (20.0 µs)');
    assert.equal(replay.positionLabel(bandwidth, 'x0.5', network), '× 0.5 (500 MB/s)');
    assert.equal(replay.positionLabel(bandwidth, 'inf', network), 'infinite');
    assert.equal(replay.positionLabel(latency, '', network), 'unchanged');
});

const change = (time_s, rank, to, more = {}) => ({ kind: 'change', time_s, tunlet: 't', action: 'grain', rank, old: 8, new: to, why: 'w', ...more });

test('the same change in several processes is one decision', () => {
    const log = [change(1, 0, 4), change(1.01, 1, 4), change(1.02, 2, 4), change(5, 0, 2)];
    assert.deepEqual(
        tuning.decisions(log).map(({ new: to, processes }) => [to, processes]),
        [
            [4, 3],
            [2, 1],
        ],
    );
});

test('a value stays until it is changed, also where a change was not carried out', () => {
    const [series] = tuning.changeSeries([change(1, 0, 4), change(2, 0, 3, { refused: 'no' }), change(3, 0, 2)], 10);
    assert.deepEqual(
        series.steps.map(({ time_s, value }) => [time_s, value]),
        [
            [0, 8],
            [1, 4],
            [3, 2],
            [10, 2],
        ],
    );
    assert.equal(series.marks.length, 3);
});

test('a long line is thinned, and keeps its ends and its extremes', () => {
    const points = Array.from({ length: 50_000 }, (_, at) => ({ time_s: at / 10, value: at === 31_234 ? 99 : at === 777 ? -99 : Math.sin(at) }));
    const thin = tuning.thinOut(points, 1000);
    assert.ok(thin.length > 500 && thin.length <= 1010, `${thin.length} points`);
    assert.deepEqual([thin[0], thin.at(-1)], [points[0], points.at(-1)]);
    assert.ok(thin.includes(points[31_234]) && thin.includes(points[777]));
    assert.ok(
        thin.every((point, at) => at === 0 || point.time_s > thin[at - 1].time_s),
        'in their order',
    );
    assert.equal(tuning.thinOut(points.slice(0, 900), 1000).length, 900, 'few stay as they are');
    assert.equal(
        tuning.thinOut(
            points.map(({ value }) => ({ time_s: 1, value })),
            100,
        ).length <= 4,
        true,
        'also where all are at once',
    );
});

const host = (name, slots, more = {}) => ({ name, slots, slots_per_socket: slots, slots_per_complex: slots, group: null, ...more });

test('every slot has a box of its own inside its host', () => {
    const { hosts: boxes, height } = hosts.layoutHosts([host('a', 4), host('none', 0), host('b', 12, { slots_per_socket: 6 })], 400);
    const slots = boxes.flatMap((box) => box.slots.map((slot) => ({ ...slot, box })));
    assert.deepEqual(
        slots.map(({ slot }) => slot),
        [...Array(16).keys()],
    );
    assert.equal(new Set(slots.map(({ x, y }) => `${x} ${y}`)).size, 16);
    for (const { x, y, width, box } of slots) {
        assert.ok(x >= box.x && x + width <= box.x + box.width && y >= box.y && y + width <= box.y + box.height && box.y + box.height <= height);
    }
    assert.equal(boxes[1].sockets.length, 2);
});

test('hosts that share a switch stand in one box, and none sticks out', () => {
    const all = Array.from({ length: 8 }, (_, at) => host(`n${at}`, 8, { group: `switch ${at >> 2}` }));
    const { groups, hosts: boxes, width } = hosts.layoutHosts(all, 520);
    assert.deepEqual(
        groups.map(({ name }) => name),
        ['switch 0', 'switch 1'],
    );
    for (const box of boxes) assert.ok(box.x + box.width <= width && box.y + box.height <= groups[box.host >> 2].y + groups[box.host >> 2].height);
});

test('letters can be read on every colour of a host', () => {
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const light = (colour) => {
        const [red, green, blue] = [1, 3, 5].map((at) => linear(Number.parseInt(colour.slice(at, at + 2), 16) / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    for (const many of [4, 8, 9, 64]) {
        for (let at = 0; at < many; at++) {
            const [one, other] = [colours.hostColour(at, many), textColourOn(colours.hostColour(at, many))].map(light);
            assert.ok(Math.max(one, other) / Math.min(one, other) >= 4.5, `${at} of ${many}`);
        }
    }
});

test('a curve follows its pieces, with a gap where one ends', () => {
    const line = (intercept, slope) => ({ intercept_s: [intercept, intercept, intercept], slope_s_per_byte: [slope, slope, slope] });
    const pieces = [
        { up_to_bytes: [100, 100, 100], ...line(1e-6, 0) },
        { up_to_bytes: null, ...line(0, 1e-6) },
    ];
    const found = machine.curvePoints({ formula: '', from_bytes: 0, pieces, measured: null }, 1000);
    const gap = found.findIndex(({ bytes }) => Number.isNaN(bytes));
    assert.ok(found.slice(0, gap).every(({ middle }) => middle === 1e-6) && found[gap - 1].bytes === 100);
    const last = found.at(-2);
    assert.deepEqual([last.bytes, last.middle], [1000, 1e-3]);
    assert.deepEqual(machine.breakpoints({ pieces }), [100]);
});

test('a thread of a region starts, works in layers, and waits for the others', () => {
    const columns = {
        count: 1,
        rank: [3],
        mpi_thread: [0],
        site: [7],
        executions: [1],
        begin: [1000],
        end: [1100],
        duration: [100],
        unfinished: [false],
        threads: [2],
        // Until it began, computed, barrier, lock, other, MPI, lock held.
        times: [0, 100, 0, 0, 0, 0, 0, 10, 30, 0, 10, 0, 0, 5],
    };
    const [region] = regions.toRegions(columns);
    assert.equal(region.threads[1].atEnd, 50);
    assert.deepEqual(regions.regionParts(region, region.threads[1]), [
        { from: 1000, to: 1010, shares: [['runtime', 1]] },
        {
            from: 1010,
            to: 1050,
            shares: [
                ['parallel', 0.75],
                ['lock', 0.25],
            ],
        },
        { from: 1050, to: 1100, shares: [['barrier', 1]] },
    ]);
    assert.deepEqual(regions.regionParts(region, region.threads[0]), [{ from: 1000, to: 1100, shares: [['parallel', 1]] }]);
});
