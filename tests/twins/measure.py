#!/usr/bin/env python3
"""Builds the programs of twins.toml and measures what `fixed` saves, without any tool.

measure.py [NAME-PART ...]: Open MPI and MPICH, the median of three runs of each variant; checks that both print the same.
With --write the figures go into twins.toml. BUILD (default /tmp/twins-build) takes the binaries, PYTHON is the
interpreter with mpi4py.
"""
import os
import re
import statistics
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", "/tmp/twins-build")
PYTHON = os.environ.get("PYTHON", "python3")
RUNS = int(os.environ.get("RUNS", "3"))
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}


def build(entry, mpi):
    source = os.path.join(HERE, entry["file"])
    if source.endswith(".py"):
        # mpi4py looks for MPICH under the name of the common ABI, which Debian's package does not have.
        os.makedirs(os.path.join(BUILD, "lib"), exist_ok=True)
        link = os.path.join(BUILD, "lib", "libmpi.so.12")
        if not os.path.lexists(link):
            os.symlink("/usr/lib/x86_64-linux-gnu/libmpich.so.12", link)
        return [PYTHON, source]
    folder = os.path.join(BUILD, mpi)
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, os.path.splitext(entry["file"])[0])
    flags = ["-O1", "-g"] + (["-fopenmp"] if "threads" in entry else [])
    if source.endswith(".c"):
        command = [f"mpicc.{mpi}", *flags, "-Wall", "-Wno-stringop-overflow", "-o", program, source, "-lm"]
    else:
        command = [f"mpif90.{mpi}", *flags, "-J", folder, "-o", program, os.path.join(HERE, "twin.f90"), source]
    subprocess.run(command, check=True)
    return [program]


def run(entry, mpi, program, variant):
    environment = dict(os.environ, TWIN_TIME="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", MPI4PY_LIBMPI=LIBRARIES[mpi],
                       OMP_NUM_THREADS=str(entry.get("threads", 1)))
    if mpi == "mpich" and entry["file"].endswith(".py"):
        environment["LD_LIBRARY_PATH"] = os.path.join(BUILD, "lib")
    command = ["timeout", "60", "nice", "-n", "10", f"mpirun.{mpi}", "-n", str(entry["ranks"]), *program, *variant]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    found = re.search(r"TIME (\S+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"{entry['name']} {mpi} {variant}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return float(found[1]), done.stdout.strip()


def measure(entry):
    savings = []
    for mpi in LIBRARIES:
        program = build(entry, mpi)
        variants = [[]] if entry["kind"] == "clean" else [[], ["fixed"]]
        times, results = [], set()
        for _ in range(RUNS):
            runs = [run(entry, mpi, program, variant) for variant in variants]
            times.append([time for time, _ in runs])
            results |= {result for _, result in runs}
        if len(results) != 1:
            print(f"  RESULTS DIFFER: {results}")
        medians = [statistics.median(each) for each in zip(*times)]
        saving = 1 - medians[-1] / medians[0] if len(medians) == 2 else 0
        savings.append(f"{mpi} = {saving:.2f}")
        print(f"{entry['file']:28} {mpi:8} {medians} saving {saving:.2f}  all {times} {results}", flush=True)
    return savings


def main():
    words = sys.argv[1:]
    write = "--write" in words
    words = [word for word in words if word != "--write"]
    path = os.path.join(HERE, "twins.toml")
    with open(path, "rb") as file:
        entries = tomllib.load(file)["program"]
    for entry in entries:
        if words and not any(word in entry["file"] for word in words):
            continue
        try:
            savings = measure(entry)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, flush=True)
            continue
        if write and entry["kind"] != "clean":
            with open(path) as file:
                text = file.read()
            pattern = rf'(file = "{re.escape(entry["file"])}"(?:(?!\[\[).)*?expected_saving = ){{[^}}]*}}'
            text = re.sub(pattern, lambda m: m[1] + "{ " + ", ".join(savings) + " }", text, flags=re.S)
            with open(path, "w") as file:
                file.write(text)


main()
