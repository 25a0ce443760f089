#!/usr/bin/env python3
"""Predictions from runs inside the second-level cache for runs outside of it.

    bench/predict/caches.py --programs DIR [--sintonia PATH] [--rounds 3] [--only NAME] [--results FILE]

Each program is recorded at sizes whose data of a rank fits into the second-level cache (chosen for 2 MiB), and predicted at sizes that leave it; all
runs in one random order. A prediction should say that it leaves the cache, and hold the runs. DIR is a folder of bench/predict/build. Needs two
cores and Debian's Open MPI."""

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "replay"))

from accuracy import run  # noqa: E402

LAUNCHER = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "core", "-n", "2"]

# Command with {n}, the sizes inside the cache, the sizes outside of it.
PROGRAMS = {
    "stencil": ("{own}/stencil {n} 400", [200, 240, 300, 360, 440], [1000, 1400]),
    "NPB CG": ("{programs}/cg.{n}", [1400, 2000, 2800, 4000], [5600, 22400]),
    "miniFE": ("{programs}/minife nx={n} ny={n} nz={n}", [12, 14, 16, 18, 20], [40, 64]),
}


class Study:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder

    def recording(self, n, turn):
        return self.folder / f"{n}-{turn}.sin"

    def record_all(self, command, sizes):
        jobs = [(n, turn) for n in sizes for turn in range(self.given.rounds)]
        random.shuffle(jobs)
        seconds = {}
        for n, turn in jobs:
            words = command.format(n=n, own=self.folder, programs=self.given.programs).split()
            recording = self.recording(n, turn)
            run([self.given.sintonia, "record", "--force", "-o", recording, "--param", f"n={n}", "--", *LAUNCHER, *words], cwd=self.folder)
            report = json.loads(run([self.given.sintonia, "report", recording, "--json"]))
            seconds.setdefault(n, []).append(report["work_s"])
        return seconds

    def rows(self, name):
        command, inside, outside = PROGRAMS[name]
        seconds = self.record_all(command, [*inside, *outside])
        model = self.folder / "model.toml"
        recordings = [self.recording(n, turn) for n in inside for turn in range(self.given.rounds)]
        run([self.given.sintonia, "fit", "--force", "-o", model, *recordings])
        for n in outside:
            found = json.loads(run([self.given.sintonia, "predict", model, "-p", f"n={n}", "--procs", "2", "--json"]))["predictions"][0]
            low, middle, high = found["seconds"]
            runs = seconds[n]
            caches = ", ".join(f"{one['crossing']} {one['cache']} at {one['at']['n']:.0f}" for one in found.get("caches") or []) or "–"
            held = sum(low <= each <= high for each in runs)
            error = 100 * (middle / statistics.median(runs) - 1)
            yield (
                f"| {name} | n = {inside[0]} to {inside[-1]} | {n} | {caches} | {middle:.3g} [{low:.3g}, {high:.3g}] "
                f"| {statistics.median(runs):.3g} ({min(runs):.3g}–{max(runs):.3g}) | {error:+.0f} % | {held} of {len(runs)} |"
            )
        for recording in self.folder.glob("*.sin"):
            shutil.rmtree(recording)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=lambda path: Path(path).resolve(), required=True)
    parser.add_argument("--sintonia", default=str(ROOT / "target/release/sintonia"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=Path, help="a file that gets the table")
    given = parser.parse_args()
    lines = ["| program | fitted | predicted | cache | time predicted, s | measured, s | error | runs inside |", "|---|---|--:|---|--:|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(["mpicc.openmpi", "-O3", "-g", "-o", folder / "stencil", ROOT / "apps/stencil.c", "-lm"])
        for name in PROGRAMS:
            if given.only.lower() in name.lower():
                for line in Study(given, folder).rows(name):
                    lines.append(line)
                    print(line, flush=True)
    if given.results:
        given.results.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
