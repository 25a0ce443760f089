#!/usr/bin/env python3
"""Replays against runs: programs recorded on one host, replayed on the machine file of a cluster, and run on that cluster.

    sudo bench/replay/accuracy.py [--sintonia PATH] [--rounds 3] [--only NAME] [--rate 100mbit] [--burst 32kbit]

The cluster is two network namespaces with links of that rate, each with a core of its own. It is measured with `sintonia bench` first. Every round records each program
on one host, and runs it on the cluster; recorded and run alternate, so that both see the same machine. Times are from the end of MPI_Init
to MPI_Finalize. The error of the network is what is left if not the recording of one host is replayed but that of the run there. Below each
program are the parts that the replay misses most, in seconds of a rank. Needs root, Debian's Open MPI, hpcc and
python3-mpi4py; HPL is built of the source of Debian's hpcc, which apt-get is asked for."""

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
AWAY = LAUNCH + ["--mca", "plm_rsh_agent", str(HERE / "own_core"), "--bind-to", "none", "--host", f"{NAME}1:1,{NAME}2:1", "-n", "2"]

SETTINGS = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
# Repeats its work until a time is over, so that it is another program on another machine: only run if it is asked for.
REPEATS_BY_TIME = "hpcc"


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Cluster:
    def __init__(self, rate, burst):
        self.down()
        run([HOSTS / "up", NAME, "2"])
        shape = ["root", "tbf", "rate", rate, "burst", burst, "latency", "50ms"]
        for host in (1, 2):
            run(["ip", "netns", "exec", f"{NAME}{host}", "tc", "qdisc", "add", "dev", "eth0", *shape])
            run(["tc", "qdisc", "add", "dev", f"{NAME}v{host}", *shape])

    def down(self):
        subprocess.run([str(HOSTS / "down"), NAME, "2"], check=False)


def hpl_source(folder):
    """The HPL that is part of hpcc, from Debian's archive; apt's own settings and lists stay as they are."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    sources = folder / "apt" / "sources.list"
    (folder / "apt" / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    sources.write_text(f"deb-src http://deb.debian.org/debian {release['VERSION_CODENAME']} main\n")
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "apt" / "lists",
        "Dir::Cache": folder / "apt",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", *(f"-o{key}={value}" for key, value in settings.items())]
    run([*apt, "update"])
    run([*apt, "source", "--tar-only", "hpcc"], cwd=folder)
    for archive in folder.glob("hpcc_*.orig.tar.*"):
        run(["tar", "xf", archive, "-C", folder])
    return next(folder.glob("hpcc-*/hpl"))


def build_hpl(folder):
    if (folder / "hpl").exists():
        return
    hpl = hpl_source(folder)
    sources = [HERE / "programs" / "hpl.c", *hpl.glob("src/*/*.c"), *hpl.glob("testing/*/*.c")]
    # Without this, HPL describes a panel with calls that MPI-3 has removed.
    packed = "-DHPL_NO_MPI_DATATYPE"
    run(["mpicc", "-O2", "-g", "-w", packed, "-I", hpl / "include", *sources, "-o", folder / "hpl", "-l:libblas.so.3", "-lm"])


def write_settings(folder, size, lookahead):
    settings = SETTINGS.read_text().splitlines()
    settings[5], settings[10], settings[11], settings[24] = f"{size} Ns", "1 Ps", "2 Qs", f"{lookahead} DEPTHs"
    folder.mkdir(exist_ok=True)
    (folder / "hpccinf.txt").write_text("\n".join(settings) + "\n")


def programs(folder):
    """Name -> command of one rank, and what has to be built for it."""
    power = HERE / "programs" / "power.py"

    def c(source):
        return lambda: run(["mpicc", "-O2", "-g", source, "-o", folder / source.stem, "-lm"])

    def fortran():
        run(["mpif90", "-O2", "-g", ROOT / "apps" / "conjugate.f90", "-o", folder / "conjugate"])

    def xfire():
        run(["mpicc", "-O2", "-g", *(ROOT / "apps" / "xfire").glob("*.c"), "-o", folder / "xfire", "-lm"])
        shutil.copy(ROOT / "apps" / "xfire" / "fire.conf", folder)

    def hpl(problem, lookahead):
        def build():
            build_hpl(folder)
            write_settings(problem, 3000, lookahead)

        return [folder / "hpl", problem], build

    return {
        "HPL": hpl(folder / "plain", 0),
        "HPL with look-ahead": hpl(folder / "ahead", 1),
        "stencil": ([folder / "stencil", "1600", "600"], c(ROOT / "apps" / "stencil.c")),
        "matmul": ([folder / "matmul", "900"], c(ROOT / "apps" / "matmul.c")),
        "transpose_fft": ([folder / "transpose_fft", "1024", "3"], c(HERE / "programs" / "transpose_fft.c")),
        "conjugate (Fortran)": ([folder / "conjugate", "900", "900"], fortran),
        "xfire (master and worker)": ([folder / "xfire", folder / "fire.conf"], xfire),
        "power (mpi4py)": (["/usr/bin/python3", power, "3000", "450"], lambda: None),
        REPEATS_BY_TIME: (["hpcc"], lambda: write_settings(folder, 1200, 1)),
    }


def parts(replayed, which):
    """Seconds of a rank, on average: at each call site, and outside of MPI."""
    ranks = replayed["ranks"]
    sites = {}
    for site in replayed["call_sites"]:
        name = f"{site['operation']} {site['place']}"
        sites[name] = sites.get(name, 0) + site[which] / ranks
    whole = sum(rank[which] for rank in replayed["per_rank"]) / ranks
    return {"computation": whole - sum(sites.values()), **sites}


def largest_differences(predicted, measured, most=4):
    """The parts whose medians differ most."""
    names = {name for each in predicted + measured for name in each}
    median = lambda rounds, name: statistics.median(each.get(name, 0) for each in rounds)
    differences = {name: median(predicted, name) - median(measured, name) for name in names}
    return sorted(differences.items(), key=lambda item: -abs(item[1]))[:most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sintonia", default=ROOT / "target" / "release" / "sintonia")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only")
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--burst", default="32kbit", help="what a link that had nothing to do lets through at once; a packet is 1600b")
    parser.add_argument("--machine", help="a machine file of the cluster, instead of measuring it")
    parser.add_argument("--keep", help="a folder for everything that is made")
    given = parser.parse_args()
    if os.geteuid():
        raise SystemExit("skipped: network namespaces need root")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    folder = Path(given.keep or tempfile.mkdtemp(prefix="accuracy-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {name: made for name, made in programs(folder).items() if (given.only in name if given.only else name != REPEATS_BY_TIME)}
    for _, build in chosen.values():
        build()
    cluster = Cluster(given.rate, given.burst)
    try:
        measure(given, folder, {name: command for name, (command, _) in chosen.items()})
    finally:
        cluster.down()
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


def measure(given, folder, commands):
    sintonia, machine = given.sintonia, Path(given.machine or folder / "cluster.machine.toml").resolve()
    if not given.machine:
        run([sintonia, "bench", "-o", machine, "--force", "--", *AWAY], cwd=folder)
    replay = lambda recording, *more: json.loads(run([sintonia, "replay", recording, *more, "--json"], cwd=folder))
    elsewhere = ["-m", machine, "--what-if", "placement=0:1"]
    errors = []
    for name, command in commands.items():
        predicted, measured, again = [], [], []
        for _ in range(given.rounds):
            run([sintonia, "record", "--force", "-o", "local.sin", "--", *LOCAL, *command], cwd=folder)
            run([sintonia, "record", "--force", "-o", "there.sin", "--", *AWAY, *command], cwd=folder)
            predicted.append(replay("local.sin", *elsewhere))
            measured.append(replay("there.sin"))
            again.append(replay("there.sin", *elsewhere))
        errors.append(show(name, predicted, measured, again))
    print(f"median error {statistics.median(errors):.1f} %, worst {max(errors):.1f} %")


def show(name, predicted, measured, again):
    """One program; its error is returned. `network` is the error that is left if the recording is that of the run itself."""
    recorded = statistics.median(each["measured_s"] for each in predicted)
    guess = statistics.median(each["seconds"][1] for each in predicted)
    runs = [each["measured_s"] for each in measured]
    truth = statistics.median(runs)
    spread = 100 * (max(runs) - min(runs)) / truth
    error = 100 * (guess / truth - 1)
    network = 100 * (statistics.median(each["seconds"][1] / each["measured_s"] for each in again) - 1)
    print(f"{name:28} one host {recorded:7.3f} s   replayed {guess:7.3f} s   run {truth:7.3f} s (spread {spread:4.1f} %)", end="")
    print(f"   error {error:+6.1f} % (network {network:+5.1f} %)")
    missed = largest_differences([parts(each, "replayed_s") for each in predicted], [parts(each, "recorded_s") for each in measured])
    print("    " + ", ".join(f"{part} {seconds:+.3f} s" for part, seconds in missed), flush=True)
    return abs(error)


if __name__ == "__main__":
    sys.exit(main())
