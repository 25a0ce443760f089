"""Communication graphs of programs that ran here under `sintonia record`, with more ranks than there are cores."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench" / "replay"))
import accuracy  # noqa: E402  (builds HPL alone from the source of hpcc)

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SINTONIA = Path(os.environ.get("SINTONIA_BIN", TARGET / "release" / "sintonia"))
LAUNCH = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"]
PROGRAMS = {
    "stencil": (ROOT / "apps" / "stencil.c", ["800", "100"]),
    "conjugate": (ROOT / "apps" / "conjugate.f90", ["400", "60"]),
    "transpose_fft": (ROOT / "bench" / "replay" / "programs" / "transpose_fft.c", ["256", "5"]),
    "pencils": (HERE / "programs" / "pencils.c", ["4096", "20"]),
    "unstructured": (HERE / "programs" / "unstructured.c", ["6000", "30"]),
    "blocks": (HERE / "programs" / "blocks.c", ["16", "20"]),
}


def run(words, folder):
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout)[-300:]}")


def hpl(folder, rows, columns):
    """The command that solves a system of equations on a grid of processes."""
    accuracy.build_hpl(folder)
    settings = accuracy.SETTINGS.read_text().splitlines()
    settings[5], settings[10], settings[11], settings[24] = "1600 Ns", f"{rows} Ps", f"{columns} Qs", "1 DEPTHs"
    (folder / "hpccinf.txt").write_text("\n".join(settings) + "\n")
    return [folder / "hpl", folder]


def program(folder, name):
    source, words = PROGRAMS[name]
    compiler = "mpif90" if source.suffix == ".f90" else "mpicc"
    run([compiler, "-O2", "-g", source, "-o", folder / name, "-lm"], folder)
    return [folder / name, *words]


def graph(folder, name, ranks, rows=None):
    """The METIS file of a run with so many ranks; made once in this folder."""
    folder = folder / "recorded"
    path = folder / f"{name}-{ranks}.graph"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = hpl(folder, rows, ranks // rows) if name == "hpl" else program(folder, name)
        shutil.rmtree(folder / "run.sin", ignore_errors=True)
        run([SINTONIA, "record", "-o", "run.sin", "--", *LAUNCH, ranks, *words], folder)
        run([SINTONIA, "graph", "run.sin", "--communication", "-o", path], folder)
    return path
