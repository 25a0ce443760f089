"""Lines by pieces: real and made-up networks, half of the sizes to fit and the other half to test."""
import csv
import math
import random
import statistics


def medians(path):
    """Sizes and median durations of a calibration file: op,size,start,duration. What begins together is added up (there and back)."""
    together = {}
    with open(path) as file:
        for row in csv.reader(file):
            if len(row) == 4 and row[0].startswith("MPI_"):
                key = int(row[1]), row[2]
                together[key] = together.get(key, 0.0) + float(row[3])
    by_size = {}
    for (size, _), duration in together.items():
        if size > 0:
            by_size.setdefault(size, []).append(duration)
    return [(float(size), statistics.median(by_size[size])) for size in sorted(by_size)]


def halves(points):
    return points[0::2], points[1::2]


def made_up(rng, noise):
    """A network with 2 to 4 breaks at powers of two, measured 15 times at 121 sizes; 3 % of the values are 2 to 10 times as long."""
    while True:
        breaks = sorted(rng.sample([2.0 ** k for k in range(7, 21)], rng.randint(2, 4)))
        if all(b / a >= 4 for a, b in zip(breaks, breaks[1:])):
            break
    intercept, slope = rng.uniform(0.5e-6, 3e-6), 1 / rng.uniform(0.5e9, 2e9)
    lines = [(intercept, slope)]
    for at in breaks:
        value = intercept + slope * at
        step = rng.choice([0, 1]) * rng.uniform(0.1, 0.6) * value
        slope *= rng.uniform(0.3, 0.9) if rng.random() < 0.7 else rng.uniform(1.1, 1.6)
        intercept = value + step - slope * at
        lines.append((intercept, slope))

    def truth(x):
        intercept, slope = lines[sum(b < x for b in breaks)]
        return intercept + slope * x

    def measured(x):
        value = truth(x) * math.exp(rng.gauss(0, noise))
        return value * rng.uniform(2, 10) if rng.random() < 0.03 else value

    sizes = sorted({round(2 ** (3 + 20 * k / 120)) for k in range(121)})
    points = [(float(x), statistics.median(measured(x) for _ in range(15))) for x in sizes]
    return points, breaks, truth


def found(breaks, true_breaks):
    """The share of the true breaks that have a found one within a quarter of an octave to either side."""
    near = [any(abs(math.log2(b / t)) < 0.34 for b in breaks if b > 0) for t in true_breaks]
    return sum(near) / len(near)


def rng(seed):
    return random.Random(seed)
