"""Communication graphs: patterns of programs, made from a seed, and files of METIS and Scotch."""
import numpy as np


class Graph:
    """Ranks, and what pairs of them exchange; each pair once, the lower rank first."""

    def __init__(self, ranks, a, b, weights):
        low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
        others = low != high
        pairs, where = np.unique(low[others] * ranks + high[others], return_inverse=True)
        self.ranks, self.a, self.b = ranks, pairs // ranks, pairs % ranks
        self.weights = np.bincount(where, weights=np.asarray(weights)[others], minlength=len(pairs)).astype(np.int64)
        self._arcs = None

    def arcs(self):
        """Where the neighbours of each rank begin, the neighbours, and the weights."""
        if self._arcs is None:
            source = np.concatenate([self.a, self.b])
            order = np.lexsort((np.concatenate([self.b, self.a]), source))
            starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=self.ranks))])
            self._arcs = starts, np.concatenate([self.b, self.a])[order], np.concatenate([self.weights, self.weights])[order]
        return self._arcs

    def shuffled(self, seed):
        names = np.random.default_rng(seed).permutation(self.ranks)
        return Graph(self.ranks, names[self.a], names[self.b], self.weights)

    def write_metis(self, path):
        self._write(path, f"{self.ranks} {len(self.a)} 001\n", lambda degree: "", lambda to, weight: (to + 1, weight))

    def write_scotch(self, path):
        self._write(path, f"0\n{self.ranks} {2 * len(self.a)}\n0 010\n", lambda degree: f"{degree} ", lambda to, weight: (weight, to))

    def _write(self, path, header, before, pair):
        starts, to, weights = self.arcs()
        words = np.empty(2 * len(to), dtype=np.int64)
        words[0::2], words[1::2] = pair(to, weights)
        texts = words.astype(str)
        with open(path, "w") as file:
            file.write(header)
            for begin, end in zip(starts[:-1], starts[1:]):
                file.write(before(end - begin) + " ".join(texts[2 * begin:2 * end]) + "\n")


def read_metis(path, largest=100_000):
    """A graph that `sintonia graph` wrote, its weights made smaller: KaHIP and VieM have a list as long as the largest weight."""
    lines = [line for line in open(path) if not line.startswith("%")]
    ranks = int(lines[0].split()[0])
    a, b, weights = [], [], []
    for rank, line in enumerate(lines[1:]):
        words = list(map(int, line.split()))
        for to, weight in zip(words[1::2], words[2::2]):
            if to - 1 > rank:
                a.append(rank), b.append(to - 1), weights.append(weight)
    weights = np.maximum(1, np.array(weights) * min(1.0, largest / max(weights))).astype(np.int64)
    return Graph(ranks, np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), weights)


def stencil(shape, reach, weight=lambda moved: 1, periodic=False):
    """A grid of ranks; each exchanges with those at most one step away in each dimension and `reach` in all, as much as the number of dimensions moved in says."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    places = np.indices(shape)
    a, b, weights = [], [], []
    for step in np.ndindex(*(3,) * len(shape)):
        step = np.array(step) - 1
        moved = int(np.abs(step).sum())
        if not 0 < moved <= reach or tuple(step) < tuple([0] * len(shape)):
            continue
        there = [place + way for place, way in zip(places, step)]
        inside = np.ones(shape, dtype=bool) if periodic else np.all([(0 <= t) & (t < size) for t, size in zip(there, shape)], axis=0)
        there = np.ravel_multi_index([t % size for t, size in zip(there, shape)], shape)
        a.append(index[inside]), b.append(there[inside]), weights.append(np.full(int(inside.sum()), weight(moved)))
    return Graph(index.size, np.concatenate(a), np.concatenate(b), np.concatenate(weights))


def halo(points):
    """Bytes of a block of `points` in each of three dimensions: faces, edges and corners of doubles."""
    return lambda moved: 8 * points ** (3 - moved)


def geometric(ranks, neighbours, seed):
    """Ranks at random places of a square; those near each other exchange."""
    random = np.random.default_rng(seed)
    x, y = random.random(ranks), random.random(ranks)
    radius = np.sqrt(neighbours / (np.pi * ranks))
    cells = max(1, int(1 / radius))
    cell = (x * cells).astype(int) * cells + (y * cells).astype(int)
    order = np.argsort(cell, kind="stable")
    begins = np.searchsorted(cell[order], np.arange(cells * cells + 1))
    a, b = [], []
    for dx, dy in [(0, 0), (0, 1), (1, -1), (1, 0), (1, 1)]:
        cx, cy = np.divmod(np.arange(cells * cells), cells)
        inside = (cx + dx < cells) & (0 <= cy + dy) & (cy + dy < cells)
        for here in np.flatnonzero(inside):
            there = here + dx * cells + dy
            own, other = order[begins[here]:begins[here + 1]], order[begins[there]:begins[there + 1]]
            near = (x[own][:, None] - x[other][None, :]) ** 2 + (y[own][:, None] - y[other][None, :]) ** 2 < radius ** 2
            i, j = np.nonzero(near)
            a.append(own[i]), b.append(other[j])
    a, b = np.concatenate(a), np.concatenate(b)
    keep = np.unique(np.minimum(a, b) * ranks + np.maximum(a, b))
    a, b = keep // ranks, keep % ranks
    return Graph(ranks, a, b, random.integers(1, 1000, len(a)))


def conjugate_gradient(ranks):
    """NPB CG: sums over the rows of the process grid by halving distances, and an exchange with the transposed rank."""
    columns = 1 << (ranks.bit_length() // 2)
    rows = ranks // columns
    rank = np.arange(ranks)
    row, column = np.divmod(rank, columns)
    a, b, weights = [], [], []
    distance = columns // 2
    while distance:
        partner = row * columns + (column ^ distance)
        a.append(rank), b.append(partner), weights.append(np.full(ranks, 1000))
        distance //= 2
    if rows == columns:
        transposed = column * columns + row
    else:
        half = column // 2
        transposed = half * columns + 2 * row + column % 2
    a.append(rank), b.append(transposed), weights.append(np.full(ranks, 1000))
    return Graph(ranks, np.concatenate(a), np.concatenate(b), np.concatenate(weights))


def rows_and_columns(rows, columns):
    """A Fourier transform by pencils: everyone to everyone in the rows of the process grid, then in its columns."""
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, weights = [], [], []
    for lines, weight in [(index, 4096 // columns + 1), (index.T, 4096 // rows + 1)]:
        i, j = np.triu_indices(lines.shape[1], 1)
        a.append(lines[:, i].ravel()), b.append(lines[:, j].ravel()), weights.append(np.full(lines.shape[0] * len(i), weight))
    return Graph(index.size, np.concatenate(a), np.concatenate(b), np.concatenate(weights))


def power_law(ranks, per_rank, seed):
    """An irregular one: each new rank exchanges with ranks that many exchange with, or with neighbours of those."""
    random = np.random.default_rng(seed)
    a, b, ends = [], [], [0]
    for rank in range(1, ranks):
        for _ in range(min(rank, per_rank)):
            if b and random.random() < 0.6:
                other = b[-1] if random.random() < 0.3 else ends[random.integers(len(ends))]
            else:
                other = int(rank - 1 - min(rank - 1, random.geometric(0.02) - 1))
            if other != rank:
                a.append(rank), b.append(other), ends.append(rank), ends.append(other)
    weights = (random.pareto(1.5, len(a)) * 100 + 1).clip(1, 20_000).astype(np.int64)
    return Graph(ranks, np.array(a), np.array(b), weights).shuffled(seed + 1)
