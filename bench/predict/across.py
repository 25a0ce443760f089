#!/usr/bin/env python3
"""Predictions for another machine against runs on it.

    sudo bench/predict/across.py --programs DIR [--sintonia PATH] [--rounds 3] [--only NAME] [--results FILE]

The machines are made here, of two cores:

- one host: both ranks on it, with shared memory between them;
- gigabit: two hosts (network namespaces) with a core each, and links of 1 Gb/s;
- 100 Mb/s: the same with slower links;
- half a core: the same as gigabit, with half of the time of each core (a control group).

Each is measured with `sintonia bench`. Programs are recorded at five sizes on a machine, `fit --machine` makes the model, `predict --machine`
predicts two sizes on another machine, the largest fitted one and one beyond the sizes that were fitted; then these runs are made there. A program's runs on all machines
are made in one random order. Times are from the end of MPI_Init to MPI_Finalize. DIR is a folder of bench/predict/build. Needs root and
Debian's Open MPI."""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "replay"))

from accuracy import HOSTS, run  # noqa: E402

NAME = "sntx"
# (link, burst, percent of a core) by machine; the first has one host.
MACHINES = {"one host": None, "gigabit": ("1gbit", "16kb", 100), "100 Mb/s": ("100mbit", "4kb", 100), "half a core": ("1gbit", "16kb", 50)}
PAIRS = [("one host", "gigabit"), ("gigabit", "one host"), ("gigabit", "100 Mb/s"), ("100 Mb/s", "gigabit"), ("gigabit", "half a core")]
COMMON = ["mpirun", "--allow-run-as-root", "--mca", "mpi_yield_when_idle", "1", "-n", "2"]

# Command with {n}, the fitted sizes, the size beyond them.
PROGRAMS = {
    "stencil": ("{own}/stencil {n} 100", [300, 400, 500, 600, 800], 1600),
    "matmul": ("{own}/matmul {n}", [200, 250, 300, 400, 500], 800),
    "NPB CG": ("{programs}/cg.{n}", [1400, 2000, 2800, 4000, 5600], 22400),
    "NPB IS": ("{programs}/is.{n}", [1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20], 1 << 22),
    "NPB LU": ("{programs}/lu.{n}", [12, 16, 20, 24, 32], 52),
    "miniFE": ("{programs}/minife nx={n} ny={n} nz={n}", [12, 16, 20, 24, 32], 52),
}


def hosts_of(machine):
    """Makes the hosts of a machine, and gives the launcher's command."""
    subprocess.run([str(HOSTS / "down"), NAME, "2"], check=False)
    if MACHINES[machine] is None:
        return [*COMMON, "--bind-to", "core"]
    rate, burst, percent = MACHINES[machine]
    run([HOSTS / "up", NAME, "2"])
    shape = ["root", "tbf", "rate", rate, "burst", burst, "latency", "50ms"]
    for host in (1, 2):
        run(["ip", "netns", "exec", f"{NAME}{host}", "tc", "qdisc", "add", "dev", "eth0", *shape])
        run(["tc", "qdisc", "add", "dev", f"{NAME}v{host}", *shape])
    agent = HERE.parent / "replay" / "own_core" if percent == 100 else HERE / "share_of_core"
    os.environ["SINTONIA_CORE_SHARE"] = str(percent)
    network = ["--mca", "btl_tcp_if_include", "10.78.0.0/24", "--mca", "btl", "tcp,vader,self", "--mca", "plm_rsh_agent", str(agent)]
    return [*COMMON, *network, "--bind-to", "none", "--host", f"{NAME}1:1,{NAME}2:1"]


class Study:
    def __init__(self, given, folder):
        self.given, self.folder, self.sintonia = given, folder, given.sintonia

    def file(self, machine):
        return self.folder / f"{machine.replace(' ', '-').replace('/', '')}.machine.toml"

    def measure_machines(self):
        for machine in MACHINES:
            print(f"measuring {machine}", file=sys.stderr, flush=True)
            run([self.sintonia, "bench", "-o", self.file(machine), "--force", "--budget", self.given.budget, "--", *hosts_of(machine)], cwd=self.folder)

    def recording(self, machine, n, turn):
        return self.folder / f"{machine.replace(' ', '-').replace('/', '')}-{n}-{turn}.sin"

    def record_all(self, command, sizes):
        """Every size on every machine; the seconds of the runs by machine and size."""
        jobs = [(machine, turn) for machine in MACHINES for turn in range(self.given.rounds)]
        random.shuffle(jobs)
        seconds = {}
        for machine, turn in jobs:
            launcher = hosts_of(machine)
            for n in random.sample(sizes, len(sizes)):
                words = command.format(n=n, own=self.folder, programs=self.given.programs).split()
                recording = self.recording(machine, n, turn)
                run([self.sintonia, "record", "--force", "-o", recording, "--param", f"n={n}", "--", *launcher, *words], cwd=self.folder)
                report = json.loads(run([self.sintonia, "report", recording, "--json"]))
                seconds.setdefault((machine, n), []).append(report["work_s"])
        return seconds

    def predict(self, here, there, fitted, n):
        model = self.folder / "model.toml"
        recordings = [self.recording(here, size, turn) for size in fitted for turn in range(self.given.rounds)]
        run([self.sintonia, "fit", "--force", "-o", model, "--machine", self.file(here), *recordings])
        words = [self.sintonia, "predict", model, "--machine", self.file(there), "-p", f"n={n}", "--procs", "2", "--json"]
        return json.loads(run(words))["predictions"][0]["seconds"]

    def rows(self, name):
        command, fitted, beyond = PROGRAMS[name]
        seconds = self.record_all(command, [*fitted, beyond])
        for here, there in PAIRS:
            for n in (fitted[-1], beyond):
                low, middle, high = self.predict(here, there, fitted, n)
                runs = seconds[there, n]
                truth, before = statistics.median(runs), statistics.median(seconds[here, n])
                inside = sum(low <= each <= high for each in runs)
                yield {
                    "program": name,
                    "from": here,
                    "to": there,
                    "n": n,
                    "beyond": n == beyond,
                    "predicted": [low, middle, high],
                    "runs": runs,
                    "change": truth / before,
                    "error_percent": 100 * (middle / truth - 1),
                    "inside": inside,
                }
        for recording in self.folder.glob("*.sin"):
            shutil.rmtree(recording)


def line(row):
    low, middle, high = row["predicted"]
    truth = statistics.median(row["runs"])
    return (
        f"| {row['program']} | {row['from']} → {row['to']} | {row['n']} | {middle:.3f} [{low:.3f}, {high:.3f}] "
        f"| {truth:.3f} ({min(row['runs']):.3f}–{max(row['runs']):.3f}) | {row['change']:.2f} | {row['error_percent']:+.0f} % | {row['inside']} of {len(row['runs'])} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sintonia", type=Path, default=ROOT / "target" / "release" / "sintonia")
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="90", help="seconds for measuring each machine")
    parser.add_argument("--only", help="only programs with this in their name")
    parser.add_argument("--results", type=Path, help="a file for all figures, as lines of JSON")
    given = parser.parse_args()
    if os.geteuid():
        raise SystemExit("skipped: network namespaces need root")
    given.programs, given.sintonia = given.programs.resolve(), given.sintonia.resolve()
    folder = Path(tempfile.mkdtemp(prefix="across-"))
    for name in ("stencil", "matmul"):
        run(["mpicc.openmpi", "-O2", "-g", ROOT / "apps" / f"{name}.c", "-o", folder / name, "-lm"])
    try:
        study = Study(given, folder)
        study.measure_machines()
        print("| program | from → to | n | predicted, s | measured, s (range) | measured there by here | error | inside |\n|---|---|--:|--:|--:|--:|--:|--:|")
        rows = []
        for name in PROGRAMS:
            if given.only and given.only not in name:
                continue
            for row in study.rows(name):
                rows.append(row)
                print(line(row), flush=True)
        if given.results:
            given.results.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for beyond in (False, True):
            chosen = [row for row in rows if row["beyond"] == beyond]
            errors = [abs(row["error_percent"]) for row in chosen]
            inside, runs = sum(row["inside"] for row in chosen), sum(len(row["runs"]) for row in chosen)
            where = "beyond the fitted sizes" if beyond else "at a fitted size"
            print(f"\n{where}: median error {statistics.median(errors):.0f} %, {inside} of {runs} runs inside")
    finally:
        subprocess.run([str(HOSTS / "down"), NAME, "2"], check=False)
        for group in Path("/sys/fs/cgroup/cpu").glob(f"{NAME}[12]"):
            group.rmdir()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
