"""What a ping-pong takes in SMPI on a platform that was written from a machine file, relative to what the file says.

    python3 bench/machine/simgrid.py here.machine.toml ...      # needs smpicc and smpirun (in Debian the package libsimgrid-dev)
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import TARGET, at

SINTONIA = os.environ.get("SINTONIA_BIN", str(TARGET / "release" / "sintonia"))


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def ratios(machine, folder):
    platform = folder / f"{machine.stem}.xml"
    run(SINTONIA, "bench", "--from", machine, "-o", platform)
    networks = json.loads(run(SINTONIA, "bench", "--from", machine, "--json"))["networks"]
    transfer = next(networks[name] for name in ("other_node", "same_node", "same_complex") if name in networks)["messages"]["transfer"]
    options = ["--cfg=smpi/simulate-computation:no", "--log=root.thres:critical"]
    simulated = run("smpirun", "-np", 2, "-platform", platform, "-hostfile", folder / "hosts", *options, folder / "pingpong")
    pairs = [line.split() for line in simulated.splitlines()]
    return {int(size): float(seconds) / at(transfer, int(size)) for size, seconds in pairs}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("smpicc", "-O2", Path(__file__).with_name("pingpong.c"), "-o", folder / "pingpong")
        (folder / "hosts").write_text("node-0\nnode-1\n")
        for machine in map(Path, sys.argv[1:]):
            found = ratios(machine, folder)
            print(f"{machine.name}: {min(found.values()):.3f} to {max(found.values()):.3f}")
            print("  " + "  ".join(f"{size}: {ratio:.3f}" for size, ratio in found.items()))


if __name__ == "__main__":
    main()
