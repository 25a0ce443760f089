"""NetPIPE and IMB behind one interface: seconds by operation and size."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

LARGEST = 262144
REPETITIONS = 300  # few, and many rounds: a disturbance then spoils a round, not all of them


def output(command, environment):
    """What a command prints; what it says when it fails."""
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class NetPipe:
    """NetPIPE on Open MPI: the best of its trials, each the mean of round trips that follow each other."""

    name = "NetPIPE, Open MPI"
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def __init__(self, program):
        self.program = program
        self.launcher = ["mpirun.openmpi", "--bind-to", "core", "-n", "2"]

    def operations(self, sizes, _):
        return [("PingPong", sizes)]

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            output([*self.launcher, self.program, "-n", str(REPETITIONS), "-u", str(LARGEST), "-o", f"{folder}/np.out"], self.environment)
            rows = [line.split() for line in Path(f"{folder}/np.out").read_text().splitlines()]
        seconds = {int(row[0]): float(row[2]) for row in rows}
        return {"PingPong": seconds.get}


class Imb:
    """IMB on Intel MPI: the mean of its repetitions, and of a group the longest mean."""

    operations_of_groups = ["Bcast", "Allreduce", "Reduce", "Allgather", "Alltoall"]
    name = "IMB, Intel MPI"

    def __init__(self, root):
        self.program = root / "bin" / "IMB-MPI1"
        self.launcher = [str(root / "bin" / "mpirun"), "-n", "2"]
        self.environment = {"PATH": f"{root}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(root / "lib"), "I_MPI_FABRICS": "shm",
                            "I_MPI_HYDRA_BOOTSTRAP": "fork"}

    def operations(self, sizes, group_sizes):
        return [("PingPong", sizes)] + [(name, group_sizes) for name in self.operations_of_groups]

    def run(self):
        command = [*self.launcher, self.program, "PingPong", *self.operations_of_groups, "-npmin", "2", "-msglog", "18", "-iter", str(REPETITIONS)]
        return {name: seconds.get for name, seconds in parsed(output(command, self.environment)).items()}


def parsed(text):
    """Seconds by operation and size: of a ping-pong the only time there is, of a group the longest."""
    result, name, column = {}, None, 0
    for line in text.splitlines():
        if found := re.match(r"# Benchmarking (\w+)", line):
            name = found.group(1)
        elif "#bytes" in line:
            heads = line.split()
            column = next(i for i, head in enumerate(heads) if head.startswith(("t_max", "t[usec]")))
        elif name and re.match(r"\s+\d+\s+\d+\s", line):
            cells = line.split()
            result.setdefault(name, {})[int(cells[0])] = float(cells[column]) * 1e-6
    return result


def find():
    """The peers that are on this machine."""
    program = shutil.which("NPopenmpi")
    root = os.environ.get("SINTONIA_IMPI")
    return ([NetPipe(program)] if program else []) + ([Imb(Path(root))] if root else [])
