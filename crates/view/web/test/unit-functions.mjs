// Unit tests of the function view: call trees, flame graph boxes, searches, queries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './load.mjs';

const tree = await load('views/functions/call-tree.ts');
const { flameLayout, boxAt, neighbour } = await load('views/functions/flame-layout.ts');
const { parseSearch, matchedShare } = await load('views/functions/search.ts');
const { parseBaseline, stackQueries } = await load('views/functions/stack-query.ts');
const { parseToggled, toggle, visibleRows } = await load('views/functions/visible-rows.ts');
const { mixColours } = await load('views/functions/flame-colours.ts');

const FUNCTIONS = [
    { name: 'main', file: '/a/x.c', module: '/a/x', kind: 'program' },
    { name: 'work', file: '/a/x.c', module: '/a/x', kind: 'program' },
    { name: 'exp', file: null, module: '/lib/libm.so.6', kind: 'library' },
    { name: 'MPI_Send', file: null, module: '', kind: 'mpi' },
];

/** main 10 < work 30 < (work 20 < exp 5, MPI_Send 15), main < MPI_Send 20. */
const NODES = {
    caller: [-1, 0, 1, 2, 1, 0],
    function: [0, 1, 1, 2, 3, 3],
    self: [10, 30, 20, 5, 15, 20],
    computation: [65, 55, 25, 5, 0, 0],
    kernel: [0, 0, 0, 0, 0, 0],
    mpi: [35, 15, 0, 0, 15, 20],
};
const answer = (nodes = NODES, functions = FUNCTIONS) => ({
    samples: 1,
    truncated: 0,
    ranks: 1,
    threads: 1,
    last_thread: 0,
    not_recorded: [],
    functions,
    nodes,
});
const side = (...more) => ({ answer: answer(...more), divisor: 1 });
const callees = () => tree.buildCallTree(side(), undefined, 'callees');
const times = (node) => [node.time.self, node.time.total];
const named = (root) => tree.descendants(root).map((node) => `${'>'.repeat(node.depth - 1)}${node.name} ${times(node).join(' ')}`);

test('callees are below their callers, the largest first', () => {
    assert.deepEqual(named(callees()), ['main 10 100', '>work 30 70', '>>work 20 25', '>>>exp 5 5', '>>MPI_Send 15 15', '>MPI_Send 20 20']);
    assert.deepEqual(times(callees()), [0, 100]);
});

test('callers are below the functions, and every sample counts once', () => {
    const root = tree.buildCallTree(side(), undefined, 'callers');
    assert.deepEqual(
        root.children.map((node) => [node.name, ...times(node)]),
        [
            ['work', 50, 50],
            ['MPI_Send', 35, 35],
            ['main', 10, 10],
            ['exp', 5, 5],
        ],
    );
    assert.deepEqual(
        root.children[1].children.map((node) => [node.name, ...times(node)]),
        [
            ['main', 0, 20],
            ['work', 0, 15],
        ],
    );
    assert.deepEqual([root.time.total, root.time.mpi], [100, 35]);
});

test('a node is found by its path, also with lines', () => {
    const root = callees();
    assert.equal(tree.findNode(root, '0.1.1').name, 'work');
    assert.equal(tree.findNode(root, '0.9'), undefined);
    assert.equal(tree.findNode(root, ''), root);
    const lines = tree.buildCallTree(side({ ...NODES, line: [3, 5, 6, 0, 0, 0] }), undefined, 'callees');
    assert.equal(tree.findNode(lines, '0:3.1:5').name, 'work:5');
});

test('a difference matches functions by name, wherever the program was built', () => {
    const elsewhere = [
        { ...FUNCTIONS[1], file: '/b/x.c' },
        { ...FUNCTIONS[0], file: '/b/renamed.c' },
        { ...FUNCTIONS[2], name: 'log' },
    ];
    const base = { caller: [-1, 0, 1], function: [1, 0, 2], self: [10, 80, 30], computation: [120, 110, 30], kernel: [0, 0, 0], mpi: [0, 0, 0] };
    const root = tree.buildCallTree(side(), { answer: answer(base, elsewhere), divisor: 2 }, 'callees');
    const work = tree.findNode(root, '0.1');
    assert.deepEqual([work.time.total, work.base.total, tree.differenceOf(work)], [70, 55, 15]);
    const log = work.children.find((node) => node.name === 'log');
    assert.deepEqual([log.functionIndex, log.time.total, log.base.total], [undefined, 0, 15]);
    assert.equal(tree.weightOf(work), 125, 'what only one of them has is as wide as it is there');
});

test('boxes are as wide as their time, below their callers', () => {
    const root = callees();
    const layout = flameLayout(root, 1000);
    const box = (path) => layout.boxes.find(({ node }) => node === tree.findNode(root, path));
    assert.deepEqual([box('0').x, box('0').width, box('0').row], [0, 1000, 1]);
    assert.deepEqual([box('0.3').x, box('0.3').width, box('0.3').row], [700, 200, 2]);
    assert.equal(boxAt(layout, 750, 2).node, tree.findNode(root, '0.3'));
    assert.equal(boxAt(layout, 950, 2), undefined, 'its own time has no box below');
    assert.equal(neighbour(layout, tree.findNode(root, '0.1'), true), tree.findNode(root, '0.3'));
    assert.equal(neighbour(layout, tree.findNode(root, '0.1'), false), undefined);
    const zoomed = flameLayout(tree.findNode(root, '0.1'), 700);
    assert.deepEqual(
        zoomed.boxes.filter(({ isAbove }) => isAbove).map(({ node, width }) => [node.name, width]),
        [
            ['all functions', 700],
            ['main', 700],
        ],
    );
    assert.equal(flameLayout(root, 10).boxes.length, 7, 'half a pixel can be seen');
    assert.equal(flameLayout(root, 9).boxes.length, 6, 'less cannot');
});

test('a deep recursion is cut, and says so', () => {
    const deep = Array.from({ length: 5000 }, (_, index) => index);
    const ones = deep.map(() => 1);
    const nodes = { caller: deep.map((index) => index - 1), function: deep.map(() => 1), self: deep.map((index) => (index === 4999 ? 1 : 0)) };
    const root = tree.buildCallTree(side({ ...nodes, computation: ones, kernel: deep.map(() => 0), mpi: deep.map(() => 0) }), undefined, 'callees');
    const { isCut, rows } = flameLayout(root, 500);
    assert.ok(isCut && rows < 400);
    assert.ok(!flameLayout(callees(), 500).isCut);
});

test('a search is a regular expression, and counts nested functions once', () => {
    const { matches } = parseSearch('^WORK$');
    assert.equal(matchedShare(callees(), matches), 0.7);
    assert.equal(parseSearch(''), undefined);
    assert.ok('error' in parseSearch('('));
});

test('a query follows the selection; a file only has the whole run and single ranks', () => {
    const current = { recording: 0, from: 1, to: 9, ranks: '0-1', viewParams: { threads: '2' } };
    assert.deepEqual(stackQueries(current, 0, 4, undefined, true).selected, { from: 1, to: 9, ranks: '0-1', threads: '2' });
    const stored = stackQueries(current, 0, 4, undefined, false);
    assert.deepEqual([stored.selected.ranks, stored.selected.from, stored.coversMore], [undefined, undefined, true]);
    assert.equal(stackQueries({ recording: 0, ranks: '3', viewParams: {} }, 0, 4, undefined, false).coversMore, false);
    const others = stackQueries({ recording: 0, viewParams: {} }, 0, 4, { ranks: '0' }, false);
    assert.deepEqual([others.selected.ranks, others.coversMore], [undefined, true], 'three other ranks are not stored as one answer');
});

test('an address written by hand gives a valid query', () => {
    const wrong = { recording: 0, from: 0.5, to: 1e99, ranks: '9-1,x', viewParams: { threads: 'all' } };
    const { selected, baseline } = stackQueries(wrong, 0, 4, { ranks: '7' }, true);
    assert.deepEqual([selected.from, selected.to, selected.ranks, selected.threads, baseline.params.ranks], Array(5).fill(undefined));
    assert.deepEqual(stackQueries({ ...wrong, from: 1.4, to: 9.6 }, 0, 4, undefined, true).selected.to, 10);
});

test('a baseline is a group of ranks or another recording', () => {
    assert.deepEqual(parseBaseline('ranks:0-1', 1), { ranks: '0-1' });
    assert.deepEqual(parseBaseline('recording:1', 2), { recording: 1 });
    for (const wrong of [undefined, '', 'recording:2', 'recording:', 'hosts:1']) assert.equal(parseBaseline(wrong, 2), undefined);
    const compared = stackQueries({ recording: 0, viewParams: {} }, 0, 4, { ranks: '0-1' }, true);
    assert.deepEqual([compared.selected.ranks, compared.baseline.params.ranks], ['2-3', '0-1'], 'with all others, if none are selected');
    const other = stackQueries({ recording: 0, ranks: '1', viewParams: {} }, 0, 4, { recording: 1 }, true);
    assert.deepEqual([other.selected.ranks, other.baseline], ['1', { recording: 1, params: {} }]);
});

test('hot rows are open, and the address has what was opened or closed', () => {
    const root = callees();
    const same = (siblings) => siblings;
    const rows = (toggled) => visibleRows(root, parseToggled(toggled), same, 100).rows.map(({ node }) => node.path);
    assert.deepEqual(rows(''), ['0', '0.1', '0.1.1', '0.1.1.2', '0.1.3', '0.3']);
    assert.deepEqual(rows('0.1'), ['0', '0.1', '0.3']);
    assert.equal(toggle(parseToggled('0.1!0'), '0'), '0.1');
    assert.equal(toggle(parseToggled('0.1'), '0'), '0.1!0');
    assert.ok(visibleRows(root, new Set(), same, 2).isCut);
});

test('colours are mixed', () => {
    assert.equal(mixColours('rgb(0, 100, 200)', 'rgb(100, 100, 100)', 0.5), 'rgb(50, 100, 150)');
});
