#!/usr/bin/env python3
"""What `tune --find` gains on programs by others, with each MPI library that they are built for.

The programs are not part of the project: a folder holds them as NAME.LIBRARY (`comd.mpich5`), built from their own sources with the library's
compiler. One that is not there is left out, and said. Every run must pass the program's own verification, besides the comparison of
outputs that `--find` always makes. Nothing else should run on the machine.

    python3 bench/tune/find.py --programs DIR [--only NAME ...] [--library NAME ...] [--results FILE]

Results are appended to a file, a line of JSON for each search; `--table FILE` prints such a file as a table."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SINTONIA = ROOT / "target/release/sintonia"
LIBRARIES = {
    "openmpi": ["mpirun.openmpi"],
    "mpich": ["mpirun.mpich"],
    "openmpi5": [str(ROOT / "target/mpi/openmpi5/bin/mpirun")],
    "mpich5": [str(ROOT / "target/mpi/mpich5/bin/mpirun")],
}
# What lets a machine with few processors run the commands as root; not part of what is tuned.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
PATIENCE = 3600


class Program:
    """A program by others, a typical command line, and how it verifies itself."""

    def __init__(self, arguments, check, options=(), wrap=None):
        self.arguments, self.check, self.options, self.wrap = arguments, check, options, wrap


def expect(pattern):
    return ["--expect", pattern]


# Input files that the distribution's packages have as examples, by program.
INPUTS = {"lammps": {"data.peptide": "/usr/share/lammps/examples/peptide/data.peptide"}, "hpcc": {"hpccinf.txt": "/usr/share/doc/hpcc/examples/_hpccinf.txt"}}
# HPCG runs for a fixed time and writes its rating and the result of its tests to a file.
HPCG = "rm -f HPCG*.txt hpcg*.txt; {command} && cat HPCG-Benchmark*.txt"
HPCG_CHECK = expect(r"HPCG result is VALID") + ["--rate", r"HPCG result is VALID with a GFLOP/s rating of=([0-9.]+)"]

VERIFIED = expect("Verification    =               SUCCESSFUL")

# By the name of the executable and the number of ranks.
PROGRAMS = {
    "lulesh-1": Program("-s 40 -i 40", expect(r"Final Origin Energy =  6.005365e\+06")),
    "hpcg-2": Program("--nx=16 --rt=1", HPCG_CHECK, ["--budget", "4m"], HPCG),
    "minife-2": Program("nx=60 ny=60 nz=60 verify_solution=1", expect("solution matches analytic solution")),
    "minife-4": Program("nx=40 ny=40 nz=40 verify_solution=1", expect("solution matches analytic solution")),
    "comd-2": Program("-e -i 2 -j 1 -k 1 -x 24 -y 24 -z 24 -N 20 --potDir {programs}/CoMD/pots", expect("no atoms lost")),
    "comd-4": Program("-e -i 2 -j 2 -k 1 -x 20 -y 20 -z 20 -N 20 --potDir {programs}/CoMD/pots", expect("no atoms lost")),
    "is.A-4": Program("", VERIFIED),
    "lu.W-4": Program("", VERIFIED),
    "cg.W-4": Program("", VERIFIED),
    "ringtest-4": Program("-m mpi4py.bench ringtest -l 20000 -n 8192", expect("time for")),
    # The example "peptide" of the distribution's package.
    "lammps-2": Program("-in /usr/share/lammps/examples/peptide/in.peptide", expect("Dangerous builds = 0")),
    "lammps-4": Program("-in /usr/share/lammps/examples/peptide/in.peptide", expect("Dangerous builds = 0")),
    "hpcc-4": Program("", expect("Success=1\\n"), [], "rm -f hpccoutf.txt; {command} && cat hpccoutf.txt"),
}


def executable(name, library, programs):
    """The program's file, or None if it is not there."""
    if name == "ringtest":
        python = ROOT / "target/mpi" / ("debian" if library in ("openmpi", "mpich") else library) / "bin/python3"
        return python if python.exists() else None
    if name in ("lammps", "hpcc"):
        found = shutil.which({"lammps": "lmp"}.get(name, name)) if library == "openmpi" else None
        return pathlib.Path(found) if found else None
    path = programs / f"{name}.{library}"
    return path if path.exists() else None


def search(name, library, programs):
    """Searches once; returns what --json prints, or what went wrong."""
    program, (name, ranks) = PROGRAMS[name], name.rsplit("-", 1)
    path = executable(name, library, programs)
    if path is None:
        return {"error": "not there"}
    arguments = program.arguments.format(programs=programs).split()
    command = LIBRARIES[library] + ["-n", ranks, str(path)] + arguments
    if program.wrap:
        command = ["sh", "-c", program.wrap.format(command=" ".join(command))]
    with tempfile.TemporaryDirectory() as folder:
        for file, source in INPUTS.get(name, {}).items():
            shutil.copy(source, pathlib.Path(folder) / file)
        find = [str(SINTONIA), "tune", "--find", "--fresh", "--json", *program.check, *program.options, "--", *command]
        done = subprocess.run(find, cwd=folder, env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        return {"error": done.stderr[-2000:] + done.stdout[-500:]}
    # Standard output is the program's own.
    return json.loads(done.stderr.strip().splitlines()[-1])


def row(result):
    """A row of the table."""
    name, library = result["program"], result["library"]
    if "error" in result:
        return f"| {name} | {library} | {result['error'].strip().splitlines()[-1]} | | |"
    found, gain = result["speedup"], result["gain_claimed"]
    shown = f"{found['ratio']:.3f} [{found['low']:.3f}, {found['high']:.3f}] of {found['pairs']} pairs" if found else "none worth confirming"
    settings = ", ".join(f"`{name}={value}`" for name, value in (result["environment"] or {}).items()) if gain else "no gain"
    return f"| {name} | {library} | {shown} | {settings} | {result['runs']} runs, {result['elapsed_s']:.0f} s |"


def print_table(results):
    print("| program | library | times as fast, 95 % interval | settings | cost |\n|---|---|---|---|---|")
    for result in results:
        print(row(result))
    gaining = {result["program"] for result in results if result.get("gain_claimed")}
    print(f"\n{len(gaining)} programs gain: {', '.join(sorted(gaining))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, help="folder with the executables, named NAME.LIBRARY")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="programs. Default: all")
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=list(LIBRARIES), help="MPI libraries. Default: all")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("find.jsonl"), help="file to append to. Default: find.jsonl")
    parser.add_argument("--table", type=pathlib.Path, help="print the results in this file, and search nothing")
    options = parser.parse_args()
    if options.table:
        print_table([json.loads(line) for line in options.table.read_text().splitlines()])
        return
    if options.programs is None:
        parser.error("--programs is needed")
    results = []
    for name in options.only:
        for library in options.library:
            result = {"program": name, "library": library, **search(name, library, options.programs.resolve())}
            results.append(result)
            with options.results.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(row(result), file=sys.stderr, flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
