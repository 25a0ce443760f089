"""The tables that both tools are given: functions that are known, functions that no tool's list holds, and real measurements.

A task is one table: the points and their repetitions, the settings to predict, and the truth there. P-A and P-B follow the evaluation of
Extra-P's own authors (repository extra-p/extrap-gpr), P-C leaves what its list of terms can express, P-D is real.
"""
import itertools
import math
import random
import statistics
from dataclasses import dataclass, field

POLYNOMIAL = [0, 1 / 4, 1 / 3, 1 / 2, 1, 2 / 3, 3 / 4, 4 / 5, 5 / 4, 4 / 3, 3 / 2, 5 / 3, 7 / 4, 9 / 4, 7 / 3, 5 / 2, 8 / 3, 11 / 4, 2, 3]
LOGARITHM = [0, 1, 2]
# The single terms that Extra-P 4.2.5 tries, as (exponent, power of the logarithm).
LISTED = [(0, 1), (0, 2), (1 / 4, 0), (1 / 3, 0), (1 / 4, 1), (1 / 3, 1), (1 / 4, 2), (1 / 3, 2), (1 / 2, 0), (1 / 2, 1), (1 / 2, 2),
          (2 / 3, 0), (3 / 4, 0), (2 / 3, 1), (3 / 4, 1), (4 / 5, 0), (2 / 3, 2), (3 / 4, 2), (1, 0), (1, 1), (1, 2), (5 / 4, 0),
          (5 / 4, 1), (4 / 3, 0), (4 / 3, 1), (3 / 2, 0), (3 / 2, 1), (3 / 2, 2), (5 / 3, 0), (7 / 4, 0), (2, 0), (2, 1), (2, 2),
          (9 / 4, 0), (7 / 3, 0), (5 / 2, 0), (5 / 2, 1), (5 / 2, 2), (8 / 3, 0), (11 / 4, 0), (3, 0), (3, 1)]
AXES = [[4, 8, 16, 32, 64], [10, 20, 30, 40, 50], [1000, 2000, 3000, 4000, 5000], [10, 12, 14, 16, 18]]
BEYOND = [128, 60, 6000, 20]
NAMES = ["a", "b", "c", "d"]
# Which functions and which noise are drawn. The fits were tuned with the seeds 0 and 7: figures to be published come from another one.
SEED = 2


def source(number):
    """A source of random numbers of its own for every table and every seed."""
    return random.Random(number + 100_003 * SEED)


@dataclass
class Task:
    row: str                     # the row of the results it belongs to
    parameters: list
    points: list
    values: list                 # repetitions of each point
    at: list                     # settings to predict
    truth: list                  # the true (or measured) value at each of them
    term: tuple = None           # the true (exponent, power of the logarithm), where there is one
    inside: list = field(default_factory=list)        # settings within the measured range, for the coverage of intervals
    inside_truth: list = field(default_factory=list)
    again: list = field(default_factory=list)         # one more measurement at each of `at` (for the intervals of measurements)


def term(x, i, j):
    return x ** i * math.log2(x) ** j


def repeated(value, percent, repetitions, walk, rng):
    """Repetitions as in extrap-gpr: independent, or a walk in which every repetition starts from the one before."""
    out, current = [], value
    for _ in range(repetitions):
        sign = -1 if rng.randint(1, 2) == 1 else 1
        change = (100 + sign * rng.uniform(0, percent / 2)) / 100
        current *= change
        out.append(current if walk else value * change)
    return out


def synthetic_function(m, gen, real_exponents=False):
    """A sum or a product of one term per parameter, every term of which matters at both ends of the grid."""
    low, high = [min(a) for a in AXES[:m]], [max(a) for a in AXES[:m]]
    while True:
        additive, constant = gen.choice([True, False]), gen.uniform(0, 1000)
        terms = [(gen.uniform(0, 1000), gen.uniform(0, 3) if real_exponents else gen.choice(POLYNOMIAL), gen.choice(LOGARITHM))
                 for _ in range(m)]

        def parts(p):
            return [c * term(x, i, j) for x, (c, i, j) in zip(p, terms)]

        def f(p):
            return constant + (sum(parts(p)) if additive else math.prod(parts(p)))

        def matters(p):
            whole = f(p)
            if additive:
                return all(v / whole >= 0.01 for v in parts(p))
            product = math.prod(parts(p))
            grows = [product * (i / x + (j / (x * math.log(x)) if j else 0)) / whole >= 0.01 for x, (_, i, j) in zip(p, terms)]
            return sum(grows) >= (2 if m == 2 else m - 1)

        if matters(low) and matters(high):
            return f


def grid(m):
    return [list(p) for p in itertools.product(*AXES[:m])]


def p_a(count, m, percent, walk, real_exponents=False, row=None):
    """Several parameters; one setting outside of the grid. `walk` is the published noise, with the same seed for every function."""
    gen, rng = source(12345 + m), source(10 + m + percent)
    name = row or f"P-A {m} parameters, {'walk' if walk else 'independent'} ±{percent} %"
    for _ in range(count):
        f = synthetic_function(m, gen, real_exponents)
        if walk:
            rng = random.Random(10)
        points = grid(m)
        values = [repeated(f(p), percent, 4, walk, rng) for p in points]
        at = BEYOND[:m]
        inside = [24, 25, 2500, 15][:m]
        yield Task(name, NAMES[:m], points, values, [at], [f(at)], inside=[inside], inside_truth=[f(inside)],
                   again=[sum(repeated(f(at), percent, 4, walk, rng)) / 4])


def uniform(value, percent, repetitions, rng):
    return [value * (1 + rng.uniform(-percent / 200, percent / 200)) for _ in range(repetitions)]


def one_parameter(row, f, xs, at, percent, rng, repetitions=5, term=None, noise=uniform, middle=statistics.mean):
    inside = [math.sqrt(xs[1] * xs[2]), math.sqrt(xs[-3] * xs[-2])]
    return Task(row, ["x"], [[x] for x in xs], [noise(f(x), percent, repetitions, rng) for x in xs], [[x] for x in at], [f(x) for x in at],
                term=term, inside=[[x] for x in inside], inside_truth=[f(x) for x in inside],
                again=[middle(noise(f(x), percent, repetitions, rng)) for x in at])


def p_b(count, percent):
    """One parameter, the true term from Extra-P's list; 2, 4, 8 and 16 times beyond the measurements."""
    gen, rng = source(777), source(5 + percent)
    for _ in range(count):
        i, j = gen.choice(LISTED)
        c0, c1 = gen.uniform(0.001, 1000), gen.uniform(0.001, 1000)
        yield one_parameter(f"P-B noise {percent} %", lambda x: c0 + c1 * term(x, i, j), [4, 8, 16, 32, 64], [128, 256, 512, 1024], percent,
                            rng, term=(i, j))


def p_c_real(count, percent):
    """One parameter, exponents that are on nobody's list."""
    gen, rng = source(41), source(6 + percent)
    for _ in range(count):
        i, j = gen.uniform(0.2, 3), gen.choice(LOGARITHM)
        c0, c1 = gen.uniform(0.001, 1000), gen.uniform(0.001, 1000)
        yield one_parameter(f"P-C real exponent, noise {percent} %", lambda x: c0 + c1 * term(x, i, j), [4, 8, 16, 32, 64],
                            [128, 256, 512, 1024], percent, rng)


def p_c_strong(count, percent):
    """Strong scaling: a serial part, a part that is divided, and communication that grows."""
    gen, rng = source(42), source(7 + percent)
    for _ in range(count):
        serial, shared = gen.uniform(0, 10), gen.uniform(100, 1000)
        talk, kind = gen.uniform(0, 2), gen.choice([None, None, lambda p: math.log2(p), lambda p: math.sqrt(p)])
        def f(p):
            return serial + shared / p + (talk * kind(p) if kind else 0)
        yield one_parameter(f"P-C strong scaling, noise {percent} %", f, [2, 4, 8, 16, 32, 64], [128, 256], percent, rng)


def p_c_sum(count, percent):
    """Two growing terms of one parameter, both of which matter."""
    gen, rng = source(43), source(8 + percent)
    xs = [4, 8, 16, 32, 64, 128, 256]
    for _ in range(count):
        (i1, j1), (i2, j2) = gen.sample([(1 / 2, 0), (1, 0), (1, 1), (3 / 2, 0), (2, 0), (2, 1), (5 / 2, 0), (3, 0)], 2)
        share = gen.uniform(0.2, 0.8)
        c1, c2 = share * 1000 / term(64, i1, j1), (1 - share) * 1000 / term(64, i2, j2)
        c0 = gen.uniform(0, 50)
        yield one_parameter(f"P-C two terms, noise {percent} %", lambda x: c0 + c1 * term(x, i1, j1) + c2 * term(x, i2, j2), xs,
                            [512, 1024], percent, rng)


def p_c_knee(count, percent):
    """The growth changes in the middle of the measurements (a cache, a network) and goes on differently."""
    gen, rng = source(44), source(9 + percent)
    xs = [4, 8, 16, 32, 64, 128, 256, 512]
    for _ in range(count):
        a, b, knee, c = gen.uniform(0.3, 1.5), gen.uniform(0.8, 2.5), gen.choice([24, 48]), gen.uniform(1, 100)
        def f(x):
            return c * x ** a if x <= knee else c * knee ** a * (x / knee) ** b
        yield one_parameter(f"P-C knee, noise {percent} %", f, xs, [1024, 2048], percent, rng)


def p_c_outliers(count, percent):
    """One repetition in 33 takes two to ten times as long."""
    gen, rng = source(45), source(10 + percent)
    def noise(value, percent, repetitions, rng):
        return [v * (rng.uniform(2, 10) if rng.random() < 0.03 else 1) for v in uniform(value, percent, repetitions, rng)]
    for _ in range(count):
        i, j = gen.choice(LISTED)
        c0, c1 = gen.uniform(0.001, 1000), gen.uniform(0.001, 1000)
        yield one_parameter(f"P-C outliers, noise {percent} %", lambda x: c0 + c1 * term(x, i, j), [4, 8, 16, 32, 64], [128, 256, 512, 1024],
                            percent, rng, noise=noise, middle=statistics.median)


def p_c_absolute(count, percent):
    """The error does not grow with the value: it is the same everywhere, a share of the middle point's value."""
    gen, rng = source(46), source(11 + percent)
    for _ in range(count):
        i, j = gen.choice([t for t in LISTED if t[0] <= 2])
        c0, c1 = gen.uniform(0.001, 1000), gen.uniform(0.001, 1000)
        def f(x):
            return c0 + c1 * term(x, i, j)
        scale = f(16)
        def noise(value, percent, repetitions, rng):
            return [max(value + scale * rng.uniform(-percent / 200, percent / 200), 0.01 * value) for _ in range(repetitions)]
        yield one_parameter(f"P-C constant error, noise {percent} %", f, [4, 8, 16, 32, 64], [128, 256, 512, 1024], percent, rng,
                            noise=noise)


def p_c_steps(count, percent):
    """A tree of messages: the depth is a whole number."""
    gen, rng = source(47), source(12 + percent)
    for _ in range(count):
        c0, c1 = gen.uniform(0, 100), gen.uniform(1, 100)
        yield one_parameter(f"P-C whole steps of log2, noise {percent} %", lambda x: c0 + c1 * math.ceil(math.log2(x)),
                            [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], [96, 128, 192, 256], percent, rng)


def read_text(path):
    """Extra-P's text format: parameters, points, and the repetitions of every region."""
    parameters, points, regions, current = [], [], {}, None
    for line in open(path):
        words = line.split()
        if not words:
            continue
        if words[0] == "PARAMETER":
            parameters += words[1:]
        elif words[0] == "POINTS":
            points.append([float(w) for w in line.replace("(", " ").replace(")", " ").split()[1:]])
        elif words[0] == "REGION":
            current = regions.setdefault(" ".join(words[1:]), [])
        elif words[0] == "DATA":
            current.append([float(w) for w in words[1:]])
    return parameters, points, regions


def p_d(path):
    """RELeARN: the large settings are held out and predicted from the small ones."""
    parameters, points, regions = read_text(path)
    mean = {name: sum(map(sum, rows)) for name, rows in regions.items()}
    whole = max(mean.values())
    tests = [("(512, 9000)", lambda p: p == [512, 9000]), ("n = 9000", lambda p: p[1] == 9000), ("n >= 8000", lambda p: p[1] >= 8000),
             ("p = 512", lambda p: p[0] == 512), ("p = 512 or n = 9000", lambda p: p[0] == 512 or p[1] == 9000)]
    for label, held in tests:
        for name, rows in regions.items():
            if mean[name] < 0.01 * whole:
                continue
            kept = [k for k, p in enumerate(points) if not held(p)]
            out = [k for k, p in enumerate(points) if held(p)]
            truth = [sum(rows[k]) / len(rows[k]) for k in out]
            yield Task(f"P-D {path.stem}, {label} held out", parameters, [points[k] for k in kept], [rows[k] for k in kept],
                       [points[k] for k in out], truth, again=truth)
