"""Fits side by side: ours, Extra-P and pycewise on the same tables, in turn.

    python3 bench/fit/compare.py [--scale 1.0] [--data ../shared/data] [--only P-B]

The peers are installed into target/bench/fit (a virtual environment) and the crate's examples are built; then every table is given to
both tools in turn, in blocks of 25. The results are printed as Markdown and written to target/bench/fit.md.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ENVIRONMENT = TARGET / "bench" / "fit"
PEERS = ["extrap==4.2.5", "pycewise==0.1.4"]
# How many tables a tool is given before it is the other one's turn.
BLOCK = 25


def in_environment():
    """Goes on in the virtual environment that has the peers, made on first use."""
    python = ENVIRONMENT / "bin" / "python"
    if Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS], check=True)
    os.execv(str(python), [str(python), *sys.argv])


def build():
    subprocess.run(["cargo", "build", "--release", "-p", "sintonia-fit", "--examples"], cwd=ROOT, check=True)
    return TARGET / "release" / "examples"


def rows(scale, data):
    """Every row of the table as a list of tasks."""
    import protocols as p

    def count(n):
        return max(10, round(n * scale))

    for m, n in ((2, 300), (3, 100), (4, 30)):
        for walk in (True, False):
            for percent in (1, 2, 5, 10):
                yield p.p_a(count(n), m, percent, walk)
    for percent in (2, 5, 10, 20, 50, 100):
        yield p.p_b(count(500), percent)
    for percent in (1, 10):
        yield p.p_a(count(200), 2, percent, False, True, f"P-C 2 parameters, real exponents, ±{percent} %")
    for make, percents in ((p.p_c_real, (1, 10)), (p.p_c_strong, (1, 10)), (p.p_c_sum, (1, 10)), (p.p_c_knee, (1, 10)), (p.p_c_outliers, (5,)),
                           (p.p_c_absolute, (5, 20)), (p.p_c_steps, (1, 10))):
        for percent in percents:
            yield make(count(300), percent)
    for relearn in sorted(data.glob("relearn*.txt")):
        by_row = {}
        for task in p.p_d(relearn):
            by_row.setdefault(task.row, []).append(task)
        yield from by_row.values()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def share(truths):
    truths = list(truths)
    return 100 * sum(truths) / len(truths)


class Scores:
    """What a row of tasks says of the two tools."""

    def __init__(self, tasks, ours, theirs):
        def error(value, truth):
            return 100 * abs(value - truth) / truth

        def all_errors(answers, middle):
            return [[error(middle(a["predicted"][k]), t.truth[k]) for a, t in zip(answers, tasks)] for k in range(len(tasks[0].at))]

        self.tasks = tasks
        self.errors = all_errors(ours, lambda v: v[1]), all_errors(theirs, lambda v: v)
        self.speed = [len(tasks) / sum(a["seconds"] for a in answers) for answers in (ours, theirs)]
        self.ours, self.theirs = ours, theirs

    def of(self, measure):
        """A measure of the errors at all settings: ours and theirs."""
        return [measure([e for at in errors for e in at]) for errors in self.errors]

    def farthest(self, measure):
        return [measure(errors[-1]) for errors in self.errors]

    def exact(self):
        """How often the true term was named."""
        from peers import term_of
        named = [[term_of(a) for a in self.ours], [a["term"] for a in self.theirs]]
        right = lambda term, task: term is not None and abs(term[0] - task.term[0]) < 1e-9 and term[1] == task.term[1]
        return [share(right(n, t) for n, t in zip(names, self.tasks)) for names in named]

    def closer(self):
        """How often ours is the closer one, of the predictions where the two differ."""
        pairs = [(a, b) for ours, theirs in zip(*self.errors) for a, b in zip(ours, theirs) if abs(a - b) > 1e-9]
        return share(a < b for a, b in pairs) if pairs else 50.0

    def coverage(self):
        """How often our intervals held the truth inside, the truth farthest out, and one more measurement; and their half width."""
        last = len(self.tasks[0].at) - 1
        held = lambda interval, value: interval[0] <= value <= interval[2]
        pairs = list(zip(self.ours, self.tasks))
        inside = share(held(a["expected"][last + 1 + k], v) for a, t in pairs for k, v in enumerate(t.inside_truth)) if self.tasks[0].inside else None
        beyond = share(held(a["expected"][last], t.truth[last]) for a, t in pairs) if self.tasks[0].inside else None
        again = share(held(a["predicted"][k], v) for a, t in pairs for k, v in enumerate(t.again))
        width = statistics.median(50 * (a["predicted"][last][2] - a["predicted"][last][0]) / a["predicted"][last][1] for a, _ in pairs
                                  if a["predicted"][last][1] > 0)
        return inside, beyond, again, width


class Summary:
    """What all rows together say."""

    def __init__(self):
        self.behind = {}
        self.rows = 0
        self.slow = []
        self.held = {"made up": ([], [], []), "real": ([], [], [])}

    def add(self, scores):
        row = scores.tasks[0].row
        self.rows += 1
        measures = [("within 5 %", lambda e: -share(v <= 5 for v in e)), ("median", statistics.median), ("mean", statistics.mean),
                    ("9 of 10", lambda e: percentile(e, 0.9))]
        for name, measure in measures:
            ours, theirs = scores.of(measure)
            if round(ours, 2) > round(theirs, 2):
                self.behind.setdefault(name, []).append(row)
        if scores.speed[0] < 100 * scores.speed[1]:
            self.slow.append(f"{row} (×{scores.speed[0] / scores.speed[1]:.0f})")
        if "walk" not in row:
            kind = "real" if "P-D" in row else "made up"
            for held, value in zip(self.held[kind], scores.coverage()):
                if value is not None:
                    held.append((value, len(scores.tasks)))

    def print(self, write):
        if not self.rows:
            return
        write("")
        for name, rows in self.behind.items():
            write(f"- Behind in {name}: {len(rows)} of {self.rows} rows: {'; '.join(rows)}")
        write(f"- Less than 100 times as fast: {len(self.slow)} of {self.rows} rows: {'; '.join(self.slow)}")
        for kind, held in self.held.items():
            means = [sum(v * n for v, n in values) / sum(n for _, n in values) if values else None for values in held]
            text = " / ".join("–" if m is None else f"{m:.1f}" for m in means)
            write(f"- Intervals of 95 % hold, {kind} (inside / farthest / one more): {text}")


def both(values, digits=1, smaller=False):
    """Ours and theirs, the better in bold."""
    ours, theirs = (f"{v:.{digits}f}" for v in values)
    if float(ours) == float(theirs):
        return f"{ours} / {theirs}"
    ahead = (values[0] < values[1]) == smaller
    return f"**{ours}** / {theirs}" if ahead else f"{ours} / **{theirs}**"


def in_turn(tasks, ours, theirs):
    """The answers of both, a block of tables at a time: so both meet the same load, and each works as it does on the regions of a file."""
    answers = [], []
    for first in range(0, len(tasks), BLOCK):
        for tool, answered in zip((ours, theirs), answers):
            answered += [tool.fit(task) for task in tasks[first:first + BLOCK]]
    return answers


def print_scaling(scale, data, only, example, write):
    from peers import Example, ExtraP
    ours, theirs = Example(example / "models"), ExtraP()
    write("| table | N | within 5 % | within 10 % | median error % | mean error % | 9 of 10 below % | farthest, median % | ours closer % | term named % "
          "| interval holds inside / farthest / one more | ± % | models per second |")
    write("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    summary = Summary()
    for tasks in rows(scale, data):
        tasks = list(tasks)
        if only and not any(o in tasks[0].row for o in only):
            continue
        s = Scores(tasks, *in_turn(tasks, ours, theirs))
        exact = both(s.exact()) if tasks[0].term else ""
        inside, beyond, again, width = s.coverage()
        # One noise for all functions says nothing of how often an interval holds.
        shown = "" if "walk" in tasks[0].row else " / ".join("–" if v is None else f"{v:.0f}" for v in (inside, beyond, again))
        write(f"| {tasks[0].row} | {len(tasks)} | {both(s.of(lambda e: share(v <= 5 for v in e)))} | {both(s.of(lambda e: share(v <= 10 for v in e)))} "
              f"| {both(s.of(statistics.median), 2, True)} | {both(s.of(statistics.mean), 2, True)} | {both(s.of(lambda e: percentile(e, 0.9)), 2, True)} "
              f"| {both(s.farthest(statistics.median), 2, True)} | {s.closer():.0f} | {exact} | {shown} | {width:.1f} "
              f"| {s.speed[0]:.0f} / {s.speed[1]:.1f} (×{s.speed[0] / s.speed[1]:.0f}) |")
        summary.add(s)
    ours.close()
    summary.print(write)


def print_pieces(scale, data, only, example, write):
    import networks
    from peers import Example, Pycewise
    ours = Example(example / "pieces")
    tools = [("ours", lambda points, at: ours.ask(dict(points=points, at=at)))]
    tools += [(f"pycewise {mode}", Pycewise(mode).fit) for mode in ("log", "BIC")]

    def middle(value):
        return value[1] if isinstance(value, list) else value

    def line(name, tool, errors, breaks, seconds, extra=""):
        write(f"| {name} | {tool} | {statistics.median(errors):.2f} | {statistics.mean(errors):.2f} | {percentile(errors, 0.95):.1f} | {breaks} | {extra} | {1000 * seconds:.1f} |")

    write("| network | tool | median error % | mean error % | 19 of 20 below % | breaks | true breaks found % | milliseconds |")
    write("|---|---|--:|--:|--:|--:|--:|--:|")
    for name in ("pingpong", "isend", "recv"):
        path = data / f"sirocco_{name}.csv"
        if not path.exists() or (only and not any(o in "sirocco" for o in only)):
            continue
        fitted, tested = networks.halves(networks.medians(path))
        for tool, fit in tools:
            answer = fit(fitted, [x for x, _ in tested])
            errors = [100 * abs(middle(v) - y) / y for v, (_, y) in zip(answer["predicted"], tested)]
            line(f"sirocco {name}", tool, errors, len(answer["breaks"]), answer["seconds"])
    for noise in (0.01, 0.03, 0.05):
        if only and not any(o in "made up" for o in only):
            continue
        rng = networks.rng(round(1000 * noise))
        results = {tool: ([], [], [], []) for tool, _ in tools}
        for _ in range(max(5, round(20 * scale))):
            points, breaks, truth = networks.made_up(rng, noise)
            at = [2 ** rng.uniform(3, 23) for _ in range(400)]
            for tool, fit in tools:
                answer = fit(points, at)
                found = [middle(b) for b in answer["breaks"]]
                errors, counts, shares, seconds = results[tool]
                errors += [100 * abs(middle(v) - truth(x)) / truth(x) for v, x in zip(answer["predicted"], at)]
                counts.append(len(found) - len(breaks))
                shares.append(100 * networks.found(found, breaks))
                seconds.append(answer["seconds"])
        for tool, (errors, counts, shares, seconds) in results.items():
            line(f"made up, noise {100 * noise:.0f} %", tool, errors, f"{statistics.mean(counts):+.1f}", statistics.mean(seconds),
                 f"{statistics.mean(shares):.0f}")
    ours.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="how many tables, relative to the usual number")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="where measurements of others lie; rows without them are left out")
    parser.add_argument("--seed", type=int, default=2, help="which functions and noise are drawn; the fits were tuned with 0 and 7")
    parser.add_argument("--only", action="append", help="only rows whose name contains this")
    options = parser.parse_args()
    in_environment()
    example = build()
    import protocols
    protocols.SEED = options.seed
    lines = []

    def write(text):
        lines.append(text)
        print(text, flush=True)

    begin = time.time()
    write("## Scaling laws: ours / Extra-P 4.2.5\n")
    print_scaling(options.scale, options.data, options.only, example, write)
    write("\n## Lines by pieces: ours and pycewise 0.1.4\n")
    print_pieces(options.scale, options.data, options.only, example, write)
    (TARGET / "bench").mkdir(parents=True, exist_ok=True)
    (TARGET / "bench" / "fit.md").write_text("\n".join(lines) + "\n")
    print(f"\n{time.time() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
