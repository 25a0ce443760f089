"""The same recorded runs replayed by Sintonia, LogGOPSim, SMPI and Dimemas: how quickly, in how much memory, and whether the times agree.

    python3 bench/replay/peers.py [--rounds 5] [--ranks 1024] [--steps 400] [--only NAME]

Sintonia replays the recording. The others get what `sintonia export` makes of it: a GOAL schedule (LogGOPSim also needs `txt2bin`), a
time-independent trace (SMPI), a `.dim` (Dimemas). Each has the same machine as far as it can say it: one rank on a node, 5 us and 1 GB/s, messages
above 64 KiB wait for their receive. Everyone reads its files in the time that is measured, which is processor time; conversions are printed apart.
A round runs all of them, in turns; ratios are within rounds. A stencil with fewer steps stands in for the long one where a peer would take hours.

SMPI is Debian's package libsimgrid-dev. LogGOPSim (github.com/spcl/LogGOPSim) is looked for in the folder LOGGOPSIM, and Dimemas
(github.com/bsc-performance-tools/dimemas, here 5.5.0) is the program that DIMEMAS names. Who is not there is left out.
"""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from loggopsim import Run, read_theirs
from simgrid_links import PLAIN

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SINTONIA = Path(os.environ.get("SINTONIA_BIN", TARGET / "release" / "sintonia"))
SPEED = Path(os.environ.get("SPEED", TARGET / "release" / "examples" / "speed"))
LATENCY, RATE, EAGER = 5e-6, 1e9, 65536
LIMIT = 900


class Peer:
    """A program that replays a recording: what it needs made of it, and how it is run."""

    def __init__(self, name, there, make, words, seconds):
        self.name, self.there, self.make, self.words, self.seconds = name, there, make, words, seconds


def export(folder, name):
    return Run([SINTONIA, "export", "run.sin", "-o", name], cwd=folder, limit=LIMIT).seconds


def machine(folder, ranks):
    (folder / "all.machine.toml").write_text(
        f'format = 1\n[machine]\nname = "all"\n[[node]]\nkind = "node"\ncount = {ranks}\ncores = 1\n[network.other_node]\neager_bytes = {EAGER}\n'
        f"transfer.pieces = [{{ intercept_s = {LATENCY}, slope_s_per_byte = {1 / RATE} }}]\n")


def sintonia():
    def seconds(text):
        return json.loads(text)["seconds"][1] if text.startswith("{") else None

    words = [SINTONIA, "replay", "run.sin", "--machine", "all.machine.toml", "--json"]
    return Peer("Sintonia", SINTONIA.exists(), lambda folder, ranks: 0.0, lambda ranks: words, seconds)


def loggopsim():
    place = Path(os.environ.get("LOGGOPSIM", "/nonexistent")) / "LogGOPSim"

    def make(folder, ranks):
        return export(folder, "run.goal") + Run([place / "txt2bin", "-i", "run.goal", "-o", "run.bin"], cwd=folder, limit=LIMIT).seconds

    options = ["-L", int(LATENCY * 1e9), "-o", 0, "-g", 0, "-G", int(1e9 / RATE), "-O", 0, "-S", EAGER]

    def seconds(text):
        ends = read_theirs(text)
        return max(ends) / 1e9 if ends else None

    return Peer("LogGOPSim", (place / "LogGOPSim").exists(), make, lambda ranks: [place / "LogGOPSim", "-f", "run.bin", *options], seconds)


def smpi():
    def make(folder, ranks):
        # Half of the latency on the link of each end, and nothing else that messages share.
        (folder / "platform.xml").write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
            f'<cluster id="c" prefix="node-" suffix="" radical="0-{ranks - 1}" speed="1Gf" bw="{RATE:.0f}Bps" lat="{LATENCY / 2}s"/>\n</platform>\n')
        (folder / "hosts").write_text("".join(f"node-{rank}\n" for rank in range(ranks)))
        return export(folder, "run.ti")

    def seconds(text):
        found = re.search(r"Simulation time ([\d.e+-]+)", text)
        return float(found.group(1)) if found else None

    options = [f"--cfg={key}" for key in [*PLAIN, f"smpi/send-is-detached-thresh:{EAGER}", "smpi/async-small-thresh:0"]]

    def words(ranks):
        return ["smpirun", "-np", ranks, "-platform", "platform.xml", "-hostfile", "hosts", *options, "-replay", "run.ti"]

    return Peer("SMPI", shutil.which("smpirun") is not None, make, words, seconds)


def dimemas():
    program = Path(os.environ.get("DIMEMAS", "/nonexistent"))

    def make(folder, ranks):
        Run([SINTONIA, "bench", "--from", "all.machine.toml", "-o", "run.cfg"], cwd=folder)
        return export(folder, "run.dim")

    def seconds(text):
        found = re.findall(r"^([\d.]+)$", text, re.M)
        return float(found[-1]) if found else None

    words = [program, "-t", "-S", EAGER, "--dim", "run.dim", "run.cfg"]
    return Peer("Dimemas", program.exists(), make, lambda ranks: words, seconds)


def stencil(folder, ranks, steps):
    done = subprocess.run([str(SPEED), str(ranks), str(steps), str(folder / "run.sin")], capture_output=True, text=True, check=False)
    return done.returncode == 0


def recorded(folder, ranks, source, arguments):
    program = folder / source.stem
    compiler = "mpif90" if source.suffix == ".f90" else "mpicc"
    subprocess.run([compiler, "-O2", "-g", str(source), "-o", str(program), "-lm"], check=True, cwd=folder)
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks)]
    words = [str(SINTONIA), "record", "-o", "run.sin", "--", *launch, str(program), *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0


def cases(ranks, steps):
    """Name, ranks, how its recording is made, and which peers have the patience for it."""
    short = max(steps // 20, 1)
    quick = {"Sintonia", "LogGOPSim"}
    all_of_them = quick | {"SMPI", "Dimemas"}
    program = lambda source, *arguments: lambda folder, ranks: recorded(folder, ranks, source, arguments)
    return [
        (f"stencil, {ranks:,} ranks, {steps} steps", ranks, lambda folder, ranks: stencil(folder, ranks, steps), quick),
        (f"stencil, {ranks:,} ranks, {short} steps", ranks, lambda folder, ranks: stencil(folder, ranks, short), all_of_them),
        ("apps/stencil.c, 16 ranks", 16, program(ROOT / "apps" / "stencil.c", "400", "5000"), all_of_them),
        ("apps/conjugate.f90, 8 ranks", 8, program(ROOT / "apps" / "conjugate.f90", "400", "3000"), all_of_them),
        ("transpose_fft.c, 8 ranks", 8, program(HERE / "programs" / "transpose_fft.c", "256", "300"), all_of_them),
    ]


def measure(folder, ranks, peers, rounds):
    calls = json.loads(Run([SINTONIA, "replay", "run.sin", "--machine", "all.machine.toml", "--json"], cwd=folder).text)["calls"]
    made = {peer.name: peer.make(folder, ranks) for peer in peers}
    runs = {peer.name: [] for peer in peers}
    for turn in range(rounds):
        for peer in peers if turn % 2 else peers[::-1]:
            runs[peer.name].append(Run(peer.words(ranks), cwd=folder, limit=LIMIT))
    first = peers[0].seconds(runs[peers[0].name][0].text)
    for peer in peers:
        own = runs[peer.name]
        found = peer.seconds(own[0].text)
        if found is None:
            print(f"| {peer.name} | came to no end: {own[0].text.strip()[-160:]!r} | | | | | |")
            continue
        seconds = statistics.median(run.seconds for run in own)
        ratios = [run.seconds / ours.seconds for run, ours in zip(own, runs[peers[0].name])]
        print(f"| {peer.name} | {seconds:.3f} s | {calls / seconds / 1e6:.3f} M/s | {max(run.mib for run in own)} MiB | {statistics.median(ratios):.1f} "
              f"({min(ratios):.1f} to {max(ratios):.1f}) | {found:.6f} s, {found / first - 1:+.2%} | {made[peer.name]:.2f} s |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--ranks", type=int, default=1024, help="of the made stencil")
    options.add_argument("--steps", type=int, default=400, help="of the made stencil")
    options.add_argument("--only", help="only the cases with this in their name")
    chosen = options.parse_args()
    if not SINTONIA.exists() or not SPEED.exists():
        print("skipped: make `cargo build --release -p sintonia` and `cargo build --release -p sintonia-replay --example speed` first")
        return 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    peers = [sintonia(), loggopsim(), smpi(), dimemas()]
    for peer in peers:
        if not peer.there:
            print(f"{peer.name} is not there; the beginning of this file says where it is looked for")
    for name, ranks, make, patient in cases(chosen.ranks, chosen.steps):
        if chosen.only and chosen.only not in name:
            continue
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            machine(folder, ranks)
            if not make(folder, ranks):
                print(f"\n{name}: could not be recorded")
                continue
            print(f"\n**{name}**\n\n| | processor time | recorded calls | memory | times Sintonia's | predicted, against Sintonia's | made in |\n|---|---|---|---|---|---|---|")
            measure(folder, ranks, [peer for peer in peers if peer.there and peer.name in patient], chosen.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
