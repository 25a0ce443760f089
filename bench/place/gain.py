#!/usr/bin/env python3
"""What placing ranks gains: programs on four hosts, with their ranks as the launcher puts them, at random, and as `sintonia place` says.

    sudo bench/place/gain.py [--sintonia PATH] [--rounds 7] [--only NAME] [--also NAME=SLOTS=COMMAND] [--rate 100mbit] [--burst 32kbit]

The hosts are network namespaces with links of that rate, on the cores of this machine. `sintonia bench` measures them first. Each program is recorded once with the
default placement, and placed by that recording. Every round then runs it in all three ways, in an order that changes, each random
placement another one. Times are from MPI_Init to MPI_Finalize, of runs recorded with --profile. Speed-ups are means of the logarithms of
ratios within rounds, with Student's interval of 95 %. Needs root, Debian's Open MPI and hpcc; HPL is built of the source of Debian's hpcc."""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "replay"))

from accuracy import HOSTS, SETTINGS, build_hpl, run  # noqa: E402

NAME = "sntg"
COUNT = 4
STUDENT_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]


class Cluster:
    def __init__(self, rate, burst):
        self.down()
        run([HOSTS / "up", NAME, COUNT])
        shape = ["root", "tbf", "rate", rate, "burst", burst, "latency", "50ms"]
        for host in range(1, COUNT + 1):
            run(["ip", "netns", "exec", f"{NAME}{host}", "tc", "qdisc", "add", "dev", "eth0", *shape])
            run(["tc", "qdisc", "add", "dev", f"{NAME}v{host}", *shape])

    def down(self):
        subprocess.run([str(HOSTS / "down"), NAME, str(COUNT)], check=False)


def launch(slots):
    """The launcher's words for so many ranks on each host."""
    hosts = ",".join(f"{NAME}{host}:{slots}" for host in range(1, COUNT + 1))
    options = ["--mca", "plm_rsh_agent", HOSTS / "agent", "--mca", "btl_tcp_if_include", "10.78.0.0/24", "--mca", "mpi_yield_when_idle", "1"]
    return ["mpirun", "--allow-run-as-root", *options, "--bind-to", "none", "--host", hosts, "-n", COUNT * slots]


def programs(folder):
    """Name -> ranks on each host, the command of one rank, and what builds it."""

    def c(source):
        return lambda: run(["mpicc", "-O2", "-g", source, "-o", folder / source.stem, "-lm"])

    def own(name):
        return c(HERE / "programs" / f"{name}.c")

    def hpl():
        build_hpl(folder)
        settings = SETTINGS.read_text().splitlines()
        settings[5], settings[10], settings[11], settings[24] = "3000 Ns", "4 Ps", "2 Qs", "0 DEPTHs"
        (folder / "grid").mkdir(exist_ok=True)
        (folder / "grid" / "hpccinf.txt").write_text("\n".join(settings) + "\n")

    return {
        "stencil, 4 x 4 ranks": (4, [folder / "stencil", "800", "2000"], c(ROOT / "apps" / "stencil.c")),
        "HPL, 4 x 2 ranks": (2, [folder / "hpl", folder / "grid"], hpl),
        "unstructured mesh, 16 ranks": (4, [folder / "unstructured", "20000", "1500"], own("unstructured")),
        "transposes in rows and columns, 4 x 4 ranks": (4, [folder / "pencils", "65536", "15"], own("pencils")),
        "blocks in three dimensions, 16 ranks": (4, [folder / "blocks", "48", "60"], own("blocks")),
    }


def seconds(sintonia, command, folder):
    """How long a run takes from MPI_Init to MPI_Finalize."""
    recording = folder / "round.sin"
    run([sintonia, "record", "--profile", "--force", "-o", recording, "--", *command], cwd=folder)
    return json.loads(run([sintonia, "report", "--json", recording]))["work_s"]


def at_random(slots, command, folder, seed):
    """The command with its ranks dealt out to the slots at random."""
    hosts = [f"{NAME}{host}" for host in range(1, COUNT + 1) for _ in range(slots)]
    random.Random(seed).shuffle(hosts)
    path = folder / "random.hosts"
    path.write_text("\n".join(hosts) + "\n")
    words = [str(word) for word in command]
    place = words.index("--host")
    return words[:1] + ["--mca", "rmaps", "seq", "--hostfile", str(path)] + words[1:place] + words[place + 2 :]


def speed_up(pairs):
    """How many times as fast the second is: low, mean and high."""
    logs = [math.log(first / second) for first, second in pairs]
    mean = statistics.mean(logs)
    half = STUDENT_95[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    return [math.exp(mean - half), math.exp(mean), math.exp(mean + half)]


def measure(name, slots, program, sintonia, machine, folder, rounds):
    default = [*launch(slots), *program]
    recording = folder / "now.sin"
    run([sintonia, "record", "--force", "-o", recording, "--", *default], cwd=folder)
    hosts = ",".join(f"{NAME}{host}:{slots}" for host in range(1, COUNT + 1))
    options = ["--machine", machine, "--hosts", hosts, "--bind", "hosts", "--force", "-o", folder / "placed.hosts"]
    placed = json.loads(run([sintonia, "place", "--json", *options, recording]))
    ways = {
        "default": lambda turn: default,
        "random": lambda turn: at_random(slots, default, folder, turn),
        "placed": lambda turn: placed["command"],
    }
    times = {way: [] for way in ways}
    for turn in range(rounds):
        order = list(ways)
        random.Random(turn).shuffle(order)
        for way in order:
            times[way].append(seconds(sintonia, ways[way](turn), folder))
        print("   ", "  ".join(f"{way} {times[way][-1]:.2f} s" for way in ways), file=sys.stderr, flush=True)
    over = {way: speed_up(list(zip(times[way], times["placed"]))) for way in ("default", "random")}
    medians = {way: statistics.median(each) for way, each in times.items()}
    return {"program": name, "predicted_gain": placed["gain"], "cost": placed["cost"], "useless": placed["useless"], "medians": medians, "speed_up": over}


def show(result):
    low, middle, high = (100 * share for share in result["predicted_gain"])
    link = result["cost"]["placed"] / result["cost"]["now"] if result["cost"]["now"] else 1.0
    medians = "  ".join(f"{way} {seconds:.2f} s" for way, seconds in result["medians"].items())
    print(f"{result['program']}: {medians}; busiest link x{link:.2f}; predicted {middle:.1f} % less time ({low:.1f} to {high:.1f})")
    for way, (low, middle, high) in result["speed_up"].items():
        print(f"  {middle:.3f} times as fast as {way} ({low:.3f} to {high:.3f})")
    if result["useless"]:
        print(f"  it was said beforehand: {result['useless']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sintonia", default=ROOT / "target" / "release" / "sintonia")
    parser.add_argument("--rounds", type=int, default=7, choices=range(1, len(STUDENT_95) + 2), metavar="N")
    parser.add_argument("--only", help="part of the name of a program")
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--burst", default="32kbit")
    parser.add_argument("--also", action="append", default=[], help="another program: its name, ranks on each host, and the command of one rank")
    parser.add_argument("--work", help="folder to work in, kept afterwards")
    given = parser.parse_args()
    os.environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    cluster = Cluster(given.rate, given.burst)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(given.work or temporary).absolute()
            folder.mkdir(exist_ok=True)
            machine = folder / "cluster.machine.toml"
            if not machine.exists():
                run([given.sintonia, "bench", "--quick", "-o", machine, "--", *launch(1)])
            others = (one.split("=", 2) for one in given.also)
            others = {name: (int(slots), command.split(), lambda: None) for name, slots, command in others}
            for name, (slots, program, build) in {**programs(folder), **others}.items():
                if not given.only or given.only in name:
                    build()
                    show(measure(name, slots, program, given.sintonia, machine, folder, given.rounds))
    finally:
        cluster.down()


if __name__ == "__main__":
    main()
