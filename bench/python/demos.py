"""Python programs by others: demos and a benchmark of mpi4py, bare and recorded, on Debian's Open MPI and MPICH.

    python3 bench/python/demos.py [--ranks 2]

mpi4py and NumPy are installed into target/bench/python (a virtual environment), and the source package is loaded from PyPI beside them. What
the programs print must be the same with and without recording, except for the times in it. Then the call sites with their callers and the
functions with the most time are printed. SINTONIA_BIN names the command; default: the one in target/release.
"""
import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ENVIRONMENT = TARGET / "bench" / "python"
SINTONIA = os.environ.get("SINTONIA_BIN", str(TARGET / "release" / "sintonia"))
VERSION = "4.1.2"
SOURCE = "https://files.pythonhosted.org/packages/75/83/231445bbcf7ef10864746c244ff2d82000011449b79275642c5d4ed8c8f4/mpi4py-4.1.2.tar.gz"
SOURCE_SHA256 = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02"
FOLDER = f"mpi4py-{VERSION}/demo"
DEMOS = [f"{FOLDER}/mandelbrot/mandelbrot.py", f"{FOLDER}/compute-pi/cpi-cco.py"]
# Lines of a picture, dealt to the ranks; pi, with the number of intervals from standard input; a message that goes round.
PROGRAMS = [([DEMOS[0]], ""), ([DEMOS[1]], "300000\n0\n"), (["-m", "mpi4py.bench", "ringtest", "-l", "500", "-n", "8192"], "")]
SHOWN = 8
MPICH_LIBRARY = "/usr/lib/x86_64-linux-gnu/libmpich.so.12"
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def prepare():
    """The interpreter, with the demos beside it."""
    if not (ENVIRONMENT / "bin/python").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin/pip", "install", "-q", f"mpi4py=={VERSION}", "numpy"], check=True)
    if not all((ENVIRONMENT / demo).exists() for demo in DEMOS):
        with urllib.request.urlopen(SOURCE) as answer:
            archive = answer.read()
        assert hashlib.sha256(archive).hexdigest() == SOURCE_SHA256, "the package is damaged"
        for demo in DEMOS:
            tarfile.open(fileobj=io.BytesIO(archive)).extract(demo, ENVIRONMENT)
    return str(ENVIRONMENT / "bin/python")


def variables(mpi, folder):
    """How mpi4py finds a library. Debian calls that of MPICH libmpich, mpi4py asks for libmpi."""
    if mpi == "openmpi":
        return {**os.environ, **OPEN_MPI, "MPI4PY_LIBMPI": "libmpi.so.40"}
    (folder / "libmpi.so.12").symlink_to(MPICH_LIBRARY)
    return {**os.environ, "MPI4PY_LIBMPI": "libmpi.so.12", "LD_LIBRARY_PATH": str(folder)}


def run(command, folder, env, text=""):
    done = subprocess.run(command, cwd=folder, env=env, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout


def without_times(text):
    return re.sub(r"[\d.]+ seconds", "seconds", text)


def place(row):
    return f"{row['function']} ({Path(row['file'] or row['module']).name}:{row['line']})"


def show(report):
    print(f"  {report['elapsed_s']:.2f} s, parallel efficiency {report['efficiency']['parallel']:.2f}")
    for site in report["call_sites"][:SHOWN]:
        callers = "".join(f" called by {caller}" for caller in site.get("callers", []))
        print(f"  {site['operation']:20} {site['calls']:5} calls at {place(site)}{callers}")
    for row in report["computation"]["functions"][:SHOWN]:
        print(f"  {100 * row['share']:4.0f} % of the computation in {place(row)}, called by {row['caller']}")


def compare(mpi, words, text, ranks, python):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = variables(mpi, folder)
        words = [str(ENVIRONMENT / word) if word in DEMOS else word for word in words]
        program = [f"mpirun.{mpi}", "-n", str(ranks), python, *words]
        bare = run(program, folder, env, text)
        recorded = run([SINTONIA, "record", "-o", "demo.sin", "--", *program], folder, env, text)
        assert without_times(bare) == without_times(recorded), f"{bare}\n{recorded}"
        print(f"{mpi}, {' '.join(words[-5:]).replace(str(ENVIRONMENT / FOLDER), 'demo')}: the same output ({len(bare.splitlines())} lines)")
        show(json.loads(run([SINTONIA, "report", "demo.sin", "--json"], folder, env)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    ranks = parser.parse_args().ranks
    python = prepare()
    for mpi in ["openmpi", "mpich"]:
        for words, text in PROGRAMS:
            compare(mpi, words, text, ranks, python)


if __name__ == "__main__":
    main()
