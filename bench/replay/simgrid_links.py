"""When messages arrive that share links, in the replay's networks and in SimGrid on the same platforms.

    python3 bench/replay/simgrid_links.py       # needs g++ and SimGrid (in Debian the package libsimgrid-dev)

SimGrid shares links max-min fairly too, but weights each message by the latency of its way. So each platform is asked twice: with links
without latency, where both must say the same, and with links of one microsecond, which shows what the weights do.
"""
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RATE = 1.25e9
MESSAGES = 400
# Name, nodes, keys of the machine file, attributes of the cluster.
PLATFORMS = [
    ("star", 64, 'kind = "star"\nnodes = 64', ""),
    ("star with a limited switch", 64, 'kind = "star"\nnodes = 64\nswitch_bandwidth_bytes_per_s = 1e10', 'bb_bw="1e10Bps" bb_lat="0"'),
    # Odd sides: where both ways round are as long, each tool goes its own.
    ("torus 5x5x3", 75, 'kind = "torus"\ndimensions = [5, 5, 3]', 'topology="TORUS" topo_parameters="5,5,3"'),
    (
        "fat tree 4x4x4",
        64,
        'kind = "fat_tree"\nlevels = [{ down = 4 }, { down = 4, up = 2 }, { down = 4, up = 2 }]',
        'topology="FAT_TREE" topo_parameters="3;4,4,4;1,2,2;1,1,1"',
    ),
]
# The plain model: no factors for TCP, no bound by its window, no acknowledgements on the way back.
PLAIN = ["network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0", "network/bandwidth-factor:1", "network/latency-factor:1",
         "network/crosstraffic:0"]


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{words[0]} failed:\n{done.stderr}")
    return done.stdout


def messages(nodes, seed):
    rng = random.Random(seed)
    for _ in range(MESSAGES):
        ends = rng.sample(range(nodes), 2)
        yield (rng.choice([0.0, round(rng.uniform(0, 0.05), 9)]), *ends, rng.randrange(100_000, 10_000_000))


def in_simgrid(program, folder, nodes, cluster, latency):
    platform = folder / "platform.xml"
    platform.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<cluster id="c" prefix="node-" suffix="" radical="0-{nodes - 1}" speed="1Gf" bw="{RATE:.0f}Bps" lat="{latency}s" {cluster}/>\n'
        "</platform>\n")
    options = [f"--cfg={key}" for key in PLAIN] + ["--log=root.thres:critical"]
    return [float(line) for line in run(program, platform, folder / "messages", *options).split()]


def in_sintonia(program, folder, topology, latency):
    machine = folder / "machine.toml"
    machine.write_text(f'format = 1\nmachine = {{ name = "x" }}\n[topology]\n{topology}\nbandwidth_bytes_per_s = {RATE}\nlatency_s = {latency}\n')
    return [float(line) for line in run(program, machine, folder / "messages").split()]


def main():
    if not shutil.which("g++") or not Path("/usr/include/simgrid/s4u.hpp").exists():
        print("skipped: no g++, or no SimGrid (in Debian the package libsimgrid-dev)")
        return
    run("cargo", "build", "--release", "--quiet", "-p", "sintonia-replay", "--example", "network_arrivals", cwd=ROOT)
    ours = TARGET / "release" / "examples" / "network_arrivals"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = folder / "simgrid_links"
        run("g++", "-O2", "-o", theirs, HERE / "simgrid_links.cpp", "-lsimgrid")
        print("| platform | latency of a link | whole time, ratio | time of a message: median difference | worst |\n|---|---|---|---|---|")
        for name, nodes, topology, cluster in PLATFORMS:
            for latency in ("0", "1e-6"):
                sent = list(messages(nodes, seed=7))
                (folder / "messages").write_text("".join(f"{' '.join(map(str, message))}\n" for message in sent))
                one, other = in_sintonia(ours, folder, topology, latency), in_simgrid(theirs, folder, nodes, cluster, latency)
                differences = [abs((a - begins) / (b - begins) - 1) for a, b, (begins, *_) in zip(one, other, sent)]
                print(f"| {name} | {latency} s | {max(one) / max(other):.4f} | {statistics.median(differences):.2%} | {max(differences):.2%} |")


if __name__ == "__main__":
    main()
