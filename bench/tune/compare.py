#!/usr/bin/env python3
"""Tables 5.5 and 5.6 of the paper on MATE with apps/xfire, how near a tuned run is to the ideal, how a load that changes is followed, and all
rules beside each other."""

import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Workers wait for each point, and so have processors of their own however many this machine has.
EVEN = "points = 3000\nspacing = 12\nend = 5\nstep = 0.25\nsubsteps = 4\nidle_per_point = 100\nheavy_works = 0\n"
CONFS = {
    "even": EVEN,
    "heavy": EVEN + "heavy_below = -150\nheavy = 1\n",
    "appears": EVEN + "heavy_below = -150\nheavy = 1\nheavy_since = 10\n",
    "sweeps": EVEN + "heavy_below = -600\nheavy = 1\nheavy_moves = 60\n",
    "slow": EVEN + "slow_from = 4\nslow = 1\n",
}
RULES = ["static", "ss", "fsc", "mfsc", "gss", "tss", "fac2", "fac", "wf", "awf", "awf-b", "awf-c", "af", "daf", "auto"]
CREW = 6


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.results = options, pathlib.Path(folder), {}
        sources = sorted((ROOT / "apps/xfire").glob("*.c"))
        subprocess.run([f"mpicc.{options.mpi}", "-O2", "-g", "-o", self.folder / "xfire", *sources, "-lm"], check=True)
        for name, text in CONFS.items():
            (self.folder / f"{name}.conf").write_text(text)

    def run(self, conf, workers, how, show):
        """Seconds of a run, seconds of computing, and both of each iteration if they are shown."""
        launch = [f"mpirun.{self.options.mpi}", "-n", str(workers + 1), "./xfire", f"{conf}.conf"] + (["--show"] if show else [])
        own = [self.options.sintonia, "tune", "--force", "-o", "run.sin", *how, "--"] if how else []
        done = subprocess.run([*own, *launch], cwd=self.folder, text=True, capture_output=True, timeout=120)
        found = re.search(r"^(\d+\.\d+) s, computing (\d+\.\d+) s$", done.stderr, re.MULTILINE)
        if done.returncode != 0 or not found:
            sys.exit(f"{conf}, {workers} workers, {how}: status {done.returncode}\n{done.stderr[-2000:]}")
        *iterations, result = done.stdout.splitlines()
        if self.results.setdefault(conf, result) != result:
            sys.exit(f"{conf}, {workers} workers, {how}: another result\n{result}\n{self.results[conf]}")
        shown = [[float(number) for number in re.findall(r"(\d+\.\d+) s", line)] for line in iterations]
        return float(found[1]), float(found[2]), shown

    def in_turns(self, cases, rounds, show=False):
        """All cases once in each round, in an order that changes; a list of runs for each."""
        runs = {case: [] for case in cases}
        for turn in range(rounds):
            for place, case in enumerate(random.sample(cases, len(cases))):
                runs[case].append(self.run(*case, show))
                print(f"\rround {turn + 1} of {rounds}, run {place + 1} of {len(cases)} ", end="", file=sys.stderr)
        print("\r" + " " * 40, end="\r", file=sys.stderr)
        return runs


def seconds(runs):
    return [run[0] for run in runs]


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def more(runs, base):
    """How much longer, in percent: the median over rounds."""
    return 100 * (statistics.median(one / other for one, other in zip(seconds(runs), seconds(base))) - 1)


def over_ideal(runs, workers):
    return 100 * (statistics.median(run[0] / (run[1] / workers) for run in runs) - 1)


PLAIN, WATCHED, TUNED = (), ("--watch", "--tunlet", "factoring"), ("--tunlet", "factoring")


def tables(bench, rounds):
    ways = {"even": (PLAIN, WATCHED, TUNED), "heavy": (PLAIN, TUNED)}
    runs = bench.in_turns([(conf, workers, how) for conf in ways for workers in range(2, 8) for how in ways[conf]], rounds)
    for conf, title in (("even", "Table 5.5: all points alike"), ("heavy", "Table 5.6: points in the south take twice their time")):
        print(f"\n{title}. Seconds, median (least–most) of {rounds} runs in turns\n")
        names = {PLAIN: "plain", WATCHED: "watched", TUNED: "tuned"}
        head = ["workers", *(names[how] for how in ways[conf]), *(["watching costs"] if WATCHED in ways[conf] else []), "gain", "ideal T/N", "tuned over ideal"]
        print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
        for workers in range(2, 8):
            of = {how: runs[(conf, workers, how)] for how in ways[conf]}
            cells = [spread(seconds(one)) for one in of.values()]
            if WATCHED in of:
                cells.append(f"{more(of[WATCHED], of[PLAIN]):+.1f} %")
            ideal = statistics.median(run[1] / workers for run in of[TUNED])
            cells += [f"{-more(of[TUNED], of[PLAIN]):.1f} %", f"{ideal:.2f}", f"{over_ideal(of[TUNED], workers):+.1f} %"]
            print(f"| {workers} | " + " | ".join(cells) + " |")


def follow(bench, rounds):
    ways = {"plain": PLAIN, "daf": TUNED, "auto": ("--tunlet", 'factoring:rule="auto"')}
    runs = bench.in_turns([(conf, CREW, how) for conf in ("appears", "sweeps") for how in ways.values()], rounds, show=True)
    studies = (("appears", "A load that appears in iteration 10", range(8, 17)), ("sweeps", "A border that moves 60 m in each iteration", range(1, 20, 2)))
    for conf, title, columns in studies:
        print(f"\n{title}: the time of an iteration over the ideal, {CREW} workers, median of {rounds} runs\n")
        print("| iteration | " + " | ".join(map(str, columns)) + " |\n" + "|---" * (len(columns) + 1) + "|")
        for way, how in ways.items():
            over = [statistics.median(run[2][i][0] / (run[2][i][1] / CREW) for run in runs[(conf, CREW, how)]) - 1 for i in columns]
            print(f"| {way} | " + " | ".join(f"{100 * one:+.0f} %" for one in over) + " |")


def rules(bench, rounds):
    confs, rounds = ("heavy", "slow"), max(1, rounds - 1)
    how = {"untuned": (), **{rule: ("--tunlet", f'factoring:rule="{rule}"') for rule in RULES}}
    runs = bench.in_turns([("even", CREW, ())] + [(conf, CREW, one) for conf in confs for one in how.values()], rounds)
    print(f"\nAll rules, {CREW} workers: points in the south take twice their time; the last three workers take twice. Median (least–most) of {rounds} runs\n")
    print("| rule | uneven points | over ideal | uneven workers | over ideal |\n|---|---|---|---|---|")
    # Three workers and three of half their speed are as good as four and a half.
    ideal = {"slow": statistics.median(run[1] for run in runs[("even", CREW, ())]) / 4.5}
    for rule, one in how.items():
        cells = []
        for conf in confs:
            of = runs[(conf, CREW, one)]
            over = 100 * (statistics.median(seconds(of)) / ideal[conf] - 1) if conf in ideal else over_ideal(of, CREW)
            cells += [spread(seconds(of)), f"{over:+.1f} %"]
        print(f"| {rule} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sintonia", default=str(ROOT / "target/release/sintonia"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", default="openmpi", choices=["openmpi", "mpich"])
    parser.add_argument("--only", choices=["tables", "follow", "rules"], action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for part in (tables, follow, rules):
            if not options.only or part.__name__ in options.only:
                part(bench, options.rounds)


main()
