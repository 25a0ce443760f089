#!/usr/bin/env python3
"""Advice for programs by others whose problem is known and can be switched off: what is promised, and what switching it off saves.

    bench/advice/build SOURCES DIR LIBRARY
    python3 bench/advice/known_fix.py DIR LIBRARY [--runs 3] [--only NAME]

The program with the problem is recorded once. Then both variants run in turns without Sintonia; what is saved is the difference of their
medians, as a share of the recorded time. That ranks share cores is true of the machine and not of the program, so this advice is passed over.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SINTONIA = os.environ.get("SINTONIA_BIN", str(HERE.parent.parent / "target/release/sintonia"))

# Name, ranks, the problem: arguments and variables, the same without the problem, and what is wrong. One core for each rank except for LULESH,
# which needs a cube.
PROGRAMS = [
    ("miniFE", 2, (["minife", "nx=60", "load_imbalance=60"], {}), (["minife", "nx=60", "load_imbalance=0"], {}), "one rank has more rows"),
    ("CoMD", 2, (["comd", "-i2", "-x20", "-y20", "-z20", "-N40"], {"COMD_VOID": "half"}),
     (["comd", "-i2", "-x20", "-y20", "-z20", "-N40"], {"COMD_VOID": "spread"}), "rank 1 has half the atoms of rank 0"),
    ("NPB IS", 2, (["is.skewed"], {}), (["is.plain"], {}), "rank 0 gets most keys"),
    ("LULESH", 8, (["lulesh", "-s", "12", "-i", "120", "-b", "4", "-c", "16"], {}),
     (["lulesh", "-s", "12", "-i", "120", "-b", "0", "-c", "16"], {}), "some ranks have most elements in expensive regions"),
]


def launcher(library, ranks):
    if library == "mpich":
        return ["mpirun.mpich", "-n", str(ranks)]
    return ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks)]


def environment(more):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return {**os.environ, **root, **more}


def command(folder, library, ranks, variant):
    words, variables = variant
    return launcher(library, ranks) + [str(folder / words[0])] + words[1:], environment(variables)


def run_seconds(folder, library, ranks, variant):
    words, variables = command(folder, library, ranks, variant)
    with tempfile.TemporaryDirectory() as scratch:
        (pathlib.Path(scratch) / "pots").symlink_to(folder / "pots")
        begin = time.monotonic()
        subprocess.run(words, env=variables, cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic() - begin


def report(folder, library, ranks, variant):
    words, variables = command(folder, library, ranks, variant)
    with tempfile.TemporaryDirectory() as scratch:
        (pathlib.Path(scratch) / "pots").symlink_to(folder / "pots")
        subprocess.run([SINTONIA, "record", "-o", "run.sin", "--"] + words, env=variables, cwd=scratch, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        printed = subprocess.run([SINTONIA, "report", "--json", "run.sin"], cwd=scratch, check=True, capture_output=True)
        return json.loads(printed.stdout)


def first_advice(found):
    return next((one for one in found["advice"] if one["kind"] != "core_shortage"), None)


def judge(folder, library, runs, program):
    name, ranks, problem, fixed, what = program
    found = report(folder, library, ranks, problem)
    work = found["work_s"]
    times = [[run_seconds(folder, library, ranks, variant) for variant in (problem, fixed)] for _ in range(runs)]
    saved = statistics.median(pair[0] for pair in times) - statistics.median(pair[1] for pair in times)
    advice = first_advice(found)
    if advice is None:
        print(f"| {name} | {what} | none | | | {100 * saved / work:.0f} % |", flush=True)
        return
    promised, low, high = (100 * advice[key] / work for key in ("saves_s", "saves_low_s", "saves_high_s"))
    place = f"{pathlib.Path(advice.get('file') or '?').name}:{advice.get('line', '?')}"
    print(f"| {name} | {what} | `{advice['kind']}` at {place} ({advice.get('function', '?')}): {advice['what']} | {promised:.0f} % | "
          f"{low:.0f} to {high:.0f} % | {100 * saved / work:.0f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("library", choices=["openmpi", "mpich"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| program | what is wrong | first advice | promised | range | saved |\n|---|---|---|--:|--:|--:|")
    for program in PROGRAMS:
        if options.only.lower() in program[0].lower():
            judge(options.folder.resolve(), options.library, options.runs, program)


main()
