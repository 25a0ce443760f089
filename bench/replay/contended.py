"""The same traces replayed by Sintonia and by SimGrid's SMPI on the same platforms, where many messages share links.

    python3 bench/replay/contended.py [--seeds 3]       # needs SMPI (in Debian the package libsimgrid-dev)

Both read the same files and have the same star, torus and fat tree. SMPI runs without the factors that it has for TCP. Links have no latency
first and then one microsecond: SimGrid weighs messages that share a link by the latency of their ways, so the two need not say the same then.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import tempfile
from pathlib import Path

from loggopsim import Run
from simgrid_links import PLAIN, PLATFORMS, RATE

ROOT = Path(__file__).resolve().parents[2]
SINTONIA = Path(os.environ.get("SINTONIA_BIN", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sintonia"))
# Inside a node messages are not in each other's way.
INSIDE = 1e10
# A larger message waits for its receive, in both.
EAGER = 65536
SMPI = [*PLAIN, f"smpi/send-is-detached-thresh:{EAGER}", "smpi/async-small-thresh:0", "surf/precision:1e-9"]


class Trace:
    """What each rank does, as lines of a time-independent trace."""

    def __init__(self, ranks):
        self.lines = [[f"{rank} init"] for rank in range(ranks)]
        self.tag = 0

    def compute(self, rank, seconds):
        self.lines[rank].append(f"{rank} compute {seconds * 1e9:.0f}")

    def exchange(self, messages):
        """Everyone begins all its receives and sends, and waits for all of them."""
        self.tag += 1
        for sender, receiver, size in messages:
            self.lines[receiver].append(f"{receiver} irecv {sender} {self.tag} {size}")
        for sender, receiver, size in messages:
            self.lines[sender].append(f"{sender} isend {receiver} {self.tag} {size}")
        for rank in {rank for message in messages for rank in message[:2]}:
            self.lines[rank].append(f"{rank} waitall")

    def write(self, folder):
        names = []
        for rank, lines in enumerate(self.lines):
            names.append(f"rank-{rank}.txt")
            (folder / names[-1]).write_text("\n".join([*lines, f"{rank} finalize"]) + "\n")
        (folder / "trace").write_text("\n".join(names) + "\n")


def all_to_all(trace, ranks, rng):
    size = rng.randrange(50_000, 200_000)
    trace.exchange([(a, b, size) for a in range(ranks) for b in range(ranks) if a != b])


def permutations(trace, ranks, rng):
    """Rounds in which everyone sends to somebody else; nobody waits for those who are not its partners."""
    for _ in range(10):
        to = rng.sample(range(ranks), ranks)
        for rank in range(ranks):
            trace.compute(rank, rng.uniform(0, 1e-3))
        trace.exchange([(rank, to[rank], rng.randrange(100_000, 5_000_000)) for rank in range(ranks) if to[rank] != rank])


def halo(trace, ranks, rng):
    """A grid of ranks, of which some share a node and with it a link."""
    side = int(ranks ** 0.5)
    grid = [(rank % side, rank // side) for rank in range(side * side)]
    at = lambda x, y: (x % side) + (y % side) * side
    size = rng.randrange(100_000, 1_000_000)
    for _ in range(10):
        for rank in range(len(grid)):
            trace.compute(rank, rng.uniform(0, 1e-3))
        ways = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        trace.exchange([(at(x, y), at(x + dx, y + dy), size) for x, y in grid for dx, dy in ways])


# Name, ranks on each node, what they do.
PATTERNS = [("all to all", 1, all_to_all), ("permutations", 1, permutations), ("halo, 4 ranks a node", 4, halo)]


def in_smpi(folder, ranks, nodes, each, cluster, latency):
    loopback = f'loopback_bw="{INSIDE:.0f}Bps" loopback_lat="0s"'
    (folder / "platform.xml").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<cluster id="c" prefix="node-" suffix="" radical="0-{nodes - 1}" speed="1Gf" core="{each}" bw="{RATE:.0f}Bps" lat="{latency}s" '
        f"{loopback} {cluster}/>\n</platform>\n")
    (folder / "hosts").write_text("".join(f"node-{rank // each}\n" for rank in range(ranks)))
    options = [f"--cfg={key}" for key in SMPI]
    words = ["smpirun", "-np", ranks, "-platform", "platform.xml", "-hostfile", "hosts", *options, "-replay", "trace"]
    text = Run(words, cwd=folder).text
    found = re.search(r"Simulation time ([\d.e+-]+)", text)
    if not found:
        raise SystemExit(f"SMPI says no time:\n{text[-2000:]}")
    return float(found.group(1))


def in_sintonia(folder, nodes, each, topology, latency):
    (folder / "machine.toml").write_text(
        f'format = 1\nmachine = {{ name = "x" }}\n[[node]]\nkind = "node"\ncount = {nodes}\ncores = {each}\n'
        f"[network.same_node]\neager_bytes = {EAGER}\ntransfer.pieces = [{{ intercept_s = 0.0, slope_s_per_byte = {1 / INSIDE} }}]\n"
        f"[network.other_node]\neager_bytes = {EAGER}\ntransfer.pieces = [{{ intercept_s = 0.0, slope_s_per_byte = 0.0 }}]\n"
        f"[topology]\n{topology}\nbandwidth_bytes_per_s = {RATE}\nlatency_s = {latency}\n")
    text = Run([SINTONIA, "replay", "trace", "--machine", "machine.toml", "--json"], cwd=folder).text
    if not text.startswith("{"):
        raise SystemExit(f"Sintonia says no time:\n{text[-2000:]}")
    return json.loads(text)["seconds"][1]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=3, help="how many traces of each kind")
    chosen = options.parse_args()
    if not shutil.which("smpirun"):
        print("skipped: no SMPI (in Debian the package libsimgrid-dev)")
        return
    print("| platform | pattern | latency of a link | SMPI | Sintonia | difference: median | worst |\n|---|---|---|---|---|---|---|")
    for name, nodes, topology, cluster in PLATFORMS:
        for pattern, each, fill in PATTERNS:
            for latency in ("0", "1e-6"):
                pairs = []
                for seed in range(chosen.seeds):
                    with tempfile.TemporaryDirectory() as work:
                        folder, ranks = Path(work), nodes * each
                        trace = Trace(ranks)
                        fill(trace, ranks, random.Random(seed))
                        trace.write(folder)
                        pairs.append((in_smpi(folder, ranks, nodes, each, cluster, latency), in_sintonia(folder, nodes, each, topology, latency)))
                differences = [abs(ours / theirs - 1) for theirs, ours in pairs]
                (theirs, ours), middle = pairs[0], statistics.median(differences)
                print(f"| {name} | {pattern} | {latency} s | {theirs * 1e3:.2f} ms | {ours * 1e3:.2f} ms | {middle:.2%} | {max(differences):.2%} |", flush=True)


if __name__ == "__main__":
    main()
