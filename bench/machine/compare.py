"""Message times side by side: `sintonia bench`, NetPIPE and IMB on the same MPI libraries, in turn.

    python3 bench/machine/compare.py [--rounds 8] [--seconds 6] [--only NAME]

Each round runs every benchmark once, in an order that changes from round to round. The results are printed as Markdown and written to
target/bench/machine.md. Run it on a machine that is quiet.
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

import peers

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SIZES = [1, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144]
GROUP_SIZES = [64, 1024, 16384, 262144]


def ours(launcher, environment, seconds, seed):
    """Seconds by operation, as the fitted pieces of the machine file say."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ.get("SINTONIA_BIN", str(TARGET / "release" / "sintonia")), "bench", "--quick", "--json", "--budget", str(seconds),
                   "--seed", str(seed), "-o", f"{folder}/m.toml", "--", *launcher]
        machine = json.loads(peers.output(command, environment))
    network = next(iter(machine["networks"].values()))
    timings = {"PingPong": network["messages"]["transfer"]}
    for name, group in machine["groups"].items():
        timings[name.capitalize()] = group["at"][0]
    return {name: (lambda size, timing=timing: at(timing, size)) for name, timing in timings.items()}


def at(timing, size):
    piece = next(p for p in timing["pieces"] if p["up_to_bytes"] is None or size <= p["up_to_bytes"][1])
    return piece["intercept_s"][1] + piece["slope_s_per_byte"][1] * size


def spread(values):
    return f"{min(values) * 1e6:.3g} / {statistics.median(values) * 1e6:.3g} / {max(values) * 1e6:.3g}"


def table(mine, theirs, operations, name):
    """Rows of one peer: least, median and greatest over the rounds, and ours relative to its median and to its least."""
    lines = [f"| operation | bytes | {name} | ours | ours / median | ours / least |", "|---|--:|--:|--:|--:|--:|"]
    for operation, sizes in operations:
        for size in sizes:
            peer = [run[operation](size) for run in theirs if operation in run and run[operation](size)]
            own = [run[operation](size) for run in mine]
            if not peer:
                continue
            middle = statistics.median(own)
            ratios = [middle / statistics.median(peer), middle / min(peer)]
            lines.append(f"| {operation} | {size:,} | {spread(peer)} | {spread(own)} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=6, help="what each run of ours may take")
    parser.add_argument("--only", default="", help="peers whose name contains this")
    arguments = parser.parse_args()
    found = [peer for peer in peers.find() if arguments.only in peer.name]
    if not found:
        sys.exit("no peer is here: install netpipe-openmpi, or name the folder of impi-rt in SINTONIA_IMPI")
    runs = {}
    for turn in range(arguments.rounds):
        todo = [(peer, who) for peer in found for who in ("ours", "theirs")]
        random.Random(turn).shuffle(todo)
        for peer, who in todo:
            print(f"round {turn + 1}: {peer.name}, {who}", file=sys.stderr)
            one = ours(peer.launcher, peer.environment, arguments.seconds, turn + 1) if who == "ours" else peer.run()
            runs.setdefault((peer.name, who), []).append(one)
    lines = []
    for peer in found:
        lines += [f"## {peer.name}", "", f"Microseconds, least / median / greatest of {arguments.rounds} rounds.", ""]
        lines += table(runs[peer.name, "ours"], runs[peer.name, "theirs"], peer.operations(SIZES, GROUP_SIZES), peer.name) + [""]
    text = "\n".join(lines)
    print(text)
    result = TARGET / "bench" / "machine.md"
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(text)


if __name__ == "__main__":
    main()
