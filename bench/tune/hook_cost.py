#!/usr/bin/env python3
"""What a hook adds to a call: Sintonia beside Frida, uftrace and the kernel's uprobes, on the same function, in turns.

Peers are installed into a temporary folder: Frida from PyPI, uftrace from the distribution. One that cannot be had, or does not hook the
function, is listed with the reason. The kernel's uprobes need root. Dyninst has no package and is not measured here."""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "target/release/examples/cost"
# What every hook that times calls must spend; in the table to show how quiet the machine was.
TIME_STAMPS = "two time stamps alone"
PATIENCE = 120
# Rounds of the target, of 20,000 calls; a system call on each takes longer.
ROUNDS, FEW_ROUNDS = 100, 10
SINTONIA = ["entry and exit", "entry and exit, stack arguments", "exit only, with duration", "entry only", "sums only", "sums only, stack arguments", "number of calls"]

# Entry and exit, each with a time and the arguments or the result in a buffer, in native code: the cheapest that Frida offers.
FRIDA = r"""
import sys, frida
session = frida.attach(int(sys.argv[1]))
script = session.create_script('''
globalThis.ring = Memory.alloc(1 << 20);
globalThis.position = Memory.alloc(8);
globalThis.code = new CModule(`
#include <gum/guminterceptor.h>
extern guint64 ring[];
extern guint64 position;
static guint64 ticks (void) { guint low, high; __asm__ volatile ("rdtsc" : "=a" (low), "=d" (high)); return (guint64) high << 32 | low; }
static void note (GumInvocationContext * context, guint64 a, guint64 b)
{
  guint64 at = position++ % 32768 * 4;
  ring[at] = ticks (); ring[at + 1] = a; ring[at + 2] = b;
}
void on_enter (GumInvocationContext * context)
{ note (context, (guint64) gum_invocation_context_get_nth_argument (context, 0), (guint64) gum_invocation_context_get_nth_argument (context, 1)); }
void on_leave (GumInvocationContext * context)
{ note (context, (guint64) gum_invocation_context_get_return_value (context), 0); }
`, { ring, position });
Interceptor.attach(Process.mainModule.getSymbolByName('work'), { onEnter: code.on_enter, onLeave: code.on_leave });
''')
script.load()
print('ready', flush=True)
sys.stdin.readline()
"""


class Missing(Exception):
    """Why a peer cannot be measured."""


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Missing(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def plain(prefix=(), between=None, env=None, rounds=ROUNDS):
    """Nanoseconds of a call of the function; `between` hooks it when the process is there."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    process = subprocess.Popen([*prefix, str(TARGET), "plain", str(rounds)], text=True, env=env, **pipes)
    try:
        after = between(process.pid) if between else None
        out, error = process.communicate("\n", timeout=PATIENCE)
        if after:
            after()
    except subprocess.TimeoutExpired as late:
        raise Missing(f"no end after {PATIENCE} s") from late
    finally:
        process.kill()
    number = re.search(r"^(\d+\.\d+)$", out, re.MULTILINE)
    if not number:
        raise Missing(f"no figure: {(error or out).strip()[-200:]}")
    return float(number[1])


def sintonia():
    out = run([str(TARGET)], timeout=300)
    figures = [float(number) for number in re.findall(r"(-?\d+\.\d) ns added", out)]
    # In the order of the example; values that are read, and replaced functions, are not compared.
    costs = dict(zip(SINTONIA, [figures[index] for index in (0, 1, 4, 5, 6, 7, 8)], strict=True))
    return {TIME_STAMPS: float(re.search(r"two time stamps alone +(\d+\.\d)", out)[1]), **costs}


class Frida:
    name = "Frida, native callbacks"

    def __init__(self, folder):
        if not (folder / "frida").exists():
            run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "frida"), "frida", "typing_extensions"])
        self.folder = folder
        (folder / "hook.py").write_text(FRIDA)

    def attach(self, pid):
        helper = subprocess.Popen([sys.executable, str(self.folder / "hook.py"), str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(self.folder / "frida"), "PATH": "/usr/bin:/bin"})
        if helper.stdout.readline().strip() != "ready":
            raise Missing(helper.stderr.read().strip().splitlines()[-1:])
        return lambda: helper.communicate("\n")

    def measure(self):
        return plain(between=self.attach)


class Uftrace:
    name = "uftrace, dynamic"

    def __init__(self, folder):
        own = shutil.which("uftrace")
        if not own and not (folder / "uftrace").exists():
            run(["apt-get", "download", "uftrace", "libcapstone4"], cwd=folder)
            for package in folder.glob("*.deb"):
                run(["dpkg", "-x", str(package), str(folder / "uftrace")])
        self.command, self.data = own or str(folder / "uftrace/usr/bin/uftrace"), folder / "uftrace.data"
        libraries = list(folder.glob("uftrace/usr/lib/*/uftrace/libmcount.so"))
        self.libraries = ["--libmcount-path", str(libraries[0].parent)] if libraries else []
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries[0].parents[1])} if libraries else None

    def measure(self):
        shutil.rmtree(self.data, ignore_errors=True)    # some hundred megabytes
        cost = plain([self.command, "record", *self.libraries, "--no-libcall", "-P", "^work$", "-d", str(self.data)], env=self.environment)
        if sum(file.stat().st_size for file in self.data.glob("[0-9]*.dat")) < 100_000:
            raise Missing("it does not hook the function, and does not say so")
        return cost


class Uprobes:
    name = "kernel uprobe and uretprobe"

    def __init__(self, folder):
        self.tracefs = folder / "tracing"
        self.tracefs.mkdir(exist_ok=True)
        run(["mount", "-t", "tracefs", "nodev", str(self.tracefs)])
        symbols = run(["nm", str(TARGET)])
        self.offset = int(re.search(r"^([0-9a-f]+) T work$", symbols, re.MULTILINE)[1], 16) - self.segment()
        if not (self.tracefs / "uprobe_events").exists():
            self.close()
            raise Missing("the kernel has no uprobes")

    @staticmethod
    def segment():
        """The difference between address and file offset in the segment with the code."""
        for line in run(["readelf", "-lW", str(TARGET)]).splitlines():
            if re.search(r"LOAD.*R E", line):
                words = line.split()
                return int(words[2], 16) - int(words[1], 16)
        raise Missing("no code")

    def measure(self):
        try:
            for kind, event in (("p", "enter"), ("r", "leave")):
                self.append(f"{kind}:sintonia_bench/{event} {TARGET}:{self.offset:#x}\n")
            (self.tracefs / "events/sintonia_bench/enable").write_text("1")
            return plain(rounds=FEW_ROUNDS)
        except OSError as problem:
            raise Missing(str(problem)) from problem
        finally:
            switch = self.tracefs / "events/sintonia_bench/enable"
            if switch.exists():
                switch.write_text("0")
                for event in ("enter", "leave"):
                    self.append(f"-:sintonia_bench/{event}\n")

    def append(self, line):
        file = os.open(self.tracefs / "uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def close(self):
        subprocess.run(["umount", str(self.tracefs)], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", type=pathlib.Path, help="keep the installed peers in this folder")
    options = parser.parse_args()
    if not TARGET.exists():
        sys.exit("first: cargo build --release -p sintonia-hook --example cost")
    added, missing, peers = {name: [] for name in [TIME_STAMPS, *SINTONIA]}, {}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.peers or pathlib.Path(temporary)
        for kind in (Frida, Uftrace, Uprobes):
            try:
                peers.append(kind(folder))
            except (Missing, OSError, StopIteration) as why:
                missing[kind.name] = str(why)
        try:
            for turn in range(options.rounds):
                print(f"\rround {turn + 1} of {options.rounds} ", end="", file=sys.stderr)
                for name, cost in sintonia().items():
                    added[name].append(cost)
                for peer in list(peers):
                    try:
                        bare = plain()
                        added.setdefault(peer.name, []).append(peer.measure() - bare)
                    except (Missing, OSError) as why:
                        missing[peer.name] = str(why)
                        peers.remove(peer)
        finally:
            for peer in peers:
                getattr(peer, "close", lambda: None)()
    print(f"\r| hook | ns added to a call, median | middle half |\n|---|---:|---:|")
    for name, costs in added.items():
        if costs:
            low, _, high = statistics.quantiles(costs, n=4) if len(costs) > 1 else (costs * 3)
            print(f"| {name} | {statistics.median(costs):.1f} | {low:.1f} to {high:.1f} |")
    for name, why in missing.items():
        print(f"not measured: {name}: {why}")
    out = ROOT / "target/bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "hook_cost.json").write_text(json.dumps({"added_ns": added, "missing": missing}, indent=1))


main()
