"""The same GOAL schedules played by Sintonia and by LogGOPSim: how long it takes, in how much memory, and whether the times agree.

    python3 bench/replay/loggopsim.py --check           # agreement: patterns of Schedgen, random schedules
    python3 bench/replay/loggopsim.py                   # speed: the same files, in turns
    python3 bench/replay/loggopsim.py --rounds 7 --large

LogGOPSim (and its Schedgen) is looked for in the folder LOGGOPSIM (an environment variable: the folder `src` of its sources, built); without it
nothing is compared.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import goal_files

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PLAY = Path(os.environ.get("PLAY_GOAL", TARGET / "release" / "examples" / "play_goal"))
MACHINE = {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 1, "S": 65535}
PATTERNS = ["binomialtreebcast", "binomialtreereduce", "binarytreebcast", "nwaydissemination", "pipelinedring", "pipelinedringdep", "doublering",
            "gather", "scatter", "linbarrier", "dissemination", "linear_alltoall", "allreduce_recdoub", "allreduce_ring"]


class Run:
    """A program that has run: what it printed, the seconds of processor that it took, and its largest memory in MiB."""

    def __init__(self, words, limit=600, cwd=None):
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen(list(map(str, words)), stdout=out, stderr=subprocess.STDOUT, cwd=cwd)
            stop = threading.Timer(limit, child.kill)
            stop.start()
            _, status, used = os.wait4(child.pid, 0)
            stop.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.text = out.read() if child.returncode >= 0 else ""
        self.seconds, self.mib = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def ours(path):
    return [PLAY, path, *(MACHINE[key] for key in "LogGOS")]


def theirs(folder, path):
    return [folder / "LogGOPSim" / "LogGOPSim", "-f", path, *(word for key in "LogGOS" for word in (f"-{key}", MACHINE[key]))]


def convert(folder, path):
    """Makes the binary file that LogGOPSim reads, and says how long that took."""
    binary = path.with_suffix(".bin")
    return binary, Run([folder / "LogGOPSim" / "txt2bin", "-i", path, "-o", binary]).seconds


def read_theirs(text):
    """The end of each rank, or else of the last one, in nanoseconds; none if it did not come to its end."""
    ends = [int(end) for end in re.findall(r"^Host \d+: (\d+)$", text, re.M)]
    last = re.search(r"Maximum finishing time at host \d+: (\d+)", text)
    return ends or ([int(last.group(1))] if last else None)


def compare(folder, name, path, tally):
    binary, _ = convert(folder, path)
    expected = read_theirs(Run(theirs(folder, binary), limit=20).text)
    found = Run(ours(path)).text
    found = json.loads(found) if found.startswith("{") else None
    if found is None or expected is None:
        both, only = ("come to no end in either", "come to an end only in Sintonia" if found else "come to an end only in LogGOPSim")
        tally[only if found or expected else both].append(name)
        return
    ends = found.get("ends_ns") if len(expected) > 1 else [found["last_ns"]]
    if ends == expected:
        tally["equal"].append(name)
    else:
        off = max(abs(a - b) / max(b, 1) for a, b in zip(ends, expected))
        tally["within 2 %" if off <= 0.02 else "more than 2 % off"].append(f"{name} ({100 * off:.2f} %)")


def check(folder, work, seeds):
    tally = {key: [] for key in ("equal", "within 2 %", "more than 2 % off", "come to no end in either", "come to an end only in Sintonia",
                                 "come to an end only in LogGOPSim")}
    for pattern in PATTERNS:
        for ranks in (4, 16, 64):
            for size in (8, 100, 100_000):
                if pattern.startswith("pipelined") and size > 100:
                    continue  # A message for each byte: LogGOPSim would need hours.
                path = work / "pattern.goal"
                Run([folder / "Schedgen" / "schedgen", "-p", pattern, "-s", ranks, "-d", size, "-o", path])
                compare(folder, f"{pattern} {ranks} {size}", path, tally)
    for seed in range(seeds):
        path = work / "random.goal"
        goal_files.random_schedule(path, seed)
        compare(folder, f"random {seed}", path, tally)
    compare(folder, "binary_tree_32.goal", folder / "LogGOPSim" / "binary_tree_32.goal", tally)
    for key, names in tally.items():
        shown = "" if key == "equal" else ": " + ", ".join(names[:6]) + (" …" if len(names) > 6 else "")
        print(f"{len(names):5} {key}{shown if names else ''}")
    return not tally["more than 2 % off"] and not tally["come to an end only in LogGOPSim"]


def measure(folder, name, path, rounds):
    runs, converted = {"ours": [], "theirs": [], "text": []}, []
    for turn in range(rounds):
        binary, convert_s = convert(folder, path)
        converted.append(convert_s)
        for who in ("ours", "text", "theirs") if turn % 2 else ("theirs", "text", "ours"):
            runs[who].append(Run(theirs(folder, binary) if who == "theirs" else ours(binary if who == "ours" else path)))
    found, expected = json.loads(runs["ours"][-1].text), read_theirs(runs["theirs"][-1].text)
    ratios = [theirs.seconds / ours.seconds for ours, theirs in zip(runs["ours"], runs["theirs"])]
    text_ratios = [(theirs.seconds + convert_s) / ours.seconds for ours, theirs, convert_s in zip(runs["text"], runs["theirs"], converted)]
    seconds = {who: statistics.median(run.seconds for run in runs[who]) for who in runs}
    from_text = {"ours": seconds["text"], "theirs": statistics.median(converted) + seconds["theirs"]}
    agree = f"{found['last_ns'] / max(expected):.6f}" if expected else "not known"
    print(f"{name}: {found['events']:,} events; last end ours/theirs {agree}")
    for who in ("ours", "theirs"):
        print(f"  {who:7} {seconds[who]:8.2f} s of processor  {found['events'] / seconds[who] / 1e6:6.2f} M events/s  {max(run.mib for run in runs[who]):6} MiB"
              f"  from the text {from_text[who]:.2f} s")
    for what, values in (("ratio  ", ratios), ("of text", text_ratios)):
        print(f"  {what} {statistics.median(values):.1f} (from {min(values):.1f} to {max(values):.1f}, {rounds} rounds)", flush=True)
    binary.unlink()


def speed(folder, work, rounds, large):
    cases = [("stencil 32x32, 400 steps", lambda path: goal_files.stencil(path, 32, 32, 400)),
             ("dissemination 1,024, 100 rounds", lambda path: goal_files.dissemination(path, 1024, 100)),
             ("stencil 256x256, 10 steps", lambda path: goal_files.stencil(path, 256, 256, 10)),
             ("dissemination 65,536, 1 round", lambda path: goal_files.dissemination(path, 65_536, 1))]
    if large:
        cases.append(("dissemination 1,048,576, 1 round", lambda path: goal_files.dissemination(path, 1 << 20, 1)))
    for name, make in cases:
        path = work / "case.goal"
        make(path)
        measure(folder, name, path, rounds)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="compare results, not times")
    options.add_argument("--seeds", type=int, default=200, help="how many random schedules")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--large", action="store_true", help="also a million ranks")
    chosen = options.parse_args()
    folder = Path(os.environ.get("LOGGOPSIM", "/nonexistent"))
    if not (folder / "LogGOPSim" / "LogGOPSim").exists():
        print("skipped: LogGOPSim is not in the folder that LOGGOPSIM names; the beginning of this file says how to get it")
        return 0
    if not PLAY.exists():
        print(f"skipped: {PLAY} is missing; make it with `cargo build --release -p sintonia-replay --example play_goal`")
        return 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as work:
        if chosen.check:
            return 0 if check(folder, Path(work), chosen.seeds) else 1
        speed(folder, Path(work), chosen.rounds, chosen.large)
    return 0


if __name__ == "__main__":
    sys.exit(main())
