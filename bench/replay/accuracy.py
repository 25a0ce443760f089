#!/usr/bin/env python3
"""Replays against runs: programs recorded on one host, replayed on the machine file of a cluster, and run on that cluster.

    sudo bench/replay/accuracy.py [--sintonia PATH] [--rounds 3] [--only NAME] [--rate 100mbit]

The cluster is two network namespaces with links of that rate. It is measured with `sintonia bench` first. Every round records each program
on one host, and runs it on the cluster; recorded and run alternate, so that both see the same machine. Times are from the end of MPI_Init
to MPI_Finalize. Needs root, Debian's Open MPI, hpcc and python3-mpi4py."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOSTS = ROOT / "tests" / "hosts"
NAME = "snta"
LAUNCH = ["mpirun", "--allow-run-as-root", "--mca", "btl_tcp_if_include", "10.78.0.0/24", "--mca", "btl", "tcp,vader,self"]
LOCAL = ["mpirun", "--allow-run-as-root", "--bind-to", "core", "-n", "2"]
AWAY = LAUNCH + ["--mca", "plm_rsh_agent", str(HOSTS / "agent"), "--bind-to", "none", "--host", f"{NAME}1:1,{NAME}2:1", "-n", "2"]

HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Cluster:
    def __init__(self, rate):
        self.down()
        run([HOSTS / "up", NAME, "2"])
        for host in (1, 2):
            shape = ["root", "tbf", "rate", rate, "burst", "32kbit", "latency", "50ms"]
            run(["ip", "netns", "exec", f"{NAME}{host}", "tc", "qdisc", "add", "dev", "eth0", *shape])
            run(["tc", "qdisc", "add", "dev", f"{NAME}v{host}", *shape])

    def down(self):
        subprocess.run([str(HOSTS / "down"), NAME, "2"], check=False)


def programs(folder):
    """Name -> command of one rank."""
    compile_c = lambda source, *flags: run(["mpicc", "-O2", "-g", source, "-o", folder / source.stem, "-lm", *flags])
    compile_c(ROOT / "apps" / "stencil.c")
    compile_c(ROOT / "apps" / "matmul.c")
    compile_c(HERE / "programs" / "transpose_fft.c")
    run(["mpif90", "-O2", "-g", ROOT / "apps" / "conjugate.f90", "-o", folder / "conjugate"])
    run(["mpicc", "-O2", "-g", *(ROOT / "apps" / "xfire").glob("*.c"), "-o", folder / "xfire", "-lm"])
    shutil.copy(ROOT / "apps" / "xfire" / "fire.conf", folder)
    settings = HPCC.read_text().splitlines()
    settings[5], settings[10], settings[11] = "1200 Ns", "1 Ps", "2 Qs"
    (folder / "hpccinf.txt").write_text("\n".join(settings) + "\n")
    return {
        "stencil": [folder / "stencil", "1600", "300"],
        "matmul": [folder / "matmul", "900"],
        "transpose_fft": [folder / "transpose_fft", "1024", "3"],
        "conjugate (Fortran)": [folder / "conjugate", "900", "300"],
        "xfire (master and worker)": [folder / "xfire", folder / "fire.conf"],
        "power (mpi4py)": ["/usr/bin/python3", HERE / "programs" / "power.py", "3000", "150"],
        "hpcc": ["hpcc"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sintonia", default=ROOT / "target" / "release" / "sintonia")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only")
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--machine", help="a machine file of the cluster, instead of measuring it")
    parser.add_argument("--keep", help="a folder for everything that is made")
    given = parser.parse_args()
    if os.geteuid():
        raise SystemExit("skipped: network namespaces need root")
    folder = Path(given.keep or tempfile.mkdtemp(prefix="accuracy-"))
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(given.rate)
    try:
        measure(given, folder)
    finally:
        cluster.down()
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


def measure(given, folder):
    sintonia, machine = given.sintonia, given.machine or folder / "cluster.machine.toml"
    if not given.machine:
        run([sintonia, "bench", "-o", machine, "--force", "--", *AWAY], cwd=folder)
    errors = []
    for name, command in programs(folder).items():
        if given.only and given.only not in name:
            continue
        predicted, measured, recorded, inside = [], [], [], 0
        for _ in range(given.rounds):
            run([sintonia, "record", "--force", "-o", "local.sin", "--", *LOCAL, *command], cwd=folder)
            run([sintonia, "record", "--force", "-o", "there.sin", "--", *AWAY, *command], cwd=folder)
            replayed = json.loads(run([sintonia, "replay", "local.sin", "-m", machine, "--what-if", "placement=0:1", "--json"], cwd=folder))
            there = json.loads(run([sintonia, "replay", "there.sin", "--json"], cwd=folder))["measured_s"]
            predicted.append(replayed["seconds"][1])
            recorded.append(replayed["measured_s"])
            measured.append(there)
        guess, truth = statistics.median(predicted), statistics.median(measured)
        error = 100 * (guess / truth - 1)
        errors.append(abs(error))
        spread = 100 * (max(measured) - min(measured)) / truth
        print(f"{name:28} one host {statistics.median(recorded):7.3f} s   replayed {guess:7.3f} s   run {truth:7.3f} s (spread {spread:4.1f} %)   error {error:+6.1f} %", flush=True)
    print(f"median error {statistics.median(errors):.1f} %, worst {max(errors):.1f} %")


if __name__ == "__main__":
    sys.exit(main())
