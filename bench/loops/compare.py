#!/usr/bin/env python3
"""Thirty loops of Java, timed, beside what `sintonia predict` says of them: compare.py FILE.machine.toml [SINTONIA]."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def output(*command, folder):
    return subprocess.run(command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def predicted(sintonia, machine, name, parameters, folder):
    output(sintonia, "compile", HERE / "Loops.java", "--entry", f"Loops.{name}", "-o", f"{name}.pam", folder=folder)
    options = [word for parameter in parameters for word in ("-p", parameter)]
    said = output(sintonia, "predict", f"{name}.pam", "--machine", machine, "--procs", "1", "--json", *options, folder=folder)
    low, _, high = json.loads(said)["predictions"][0]["seconds"]
    return low, high


def main():
    machine = pathlib.Path(sys.argv[1]).resolve()
    sintonia = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else "sintonia"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        output("javac", "-d", folder, HERE / "Loops.java", HERE / "Clock.java", folder=folder)
        for line in output("java", "-XX:+UseSerialGC", "-cp", folder, "Clock", folder=folder).splitlines():
            name, seconds, *parameters = line.split()
            low, high = predicted(sintonia, machine, name, parameters, folder)
            rows.append((float(seconds) / low, name, float(seconds), low, high))
    print("| loop | measured | interval | measured / low end |\n|---|---|---|---|")
    for ratio, name, seconds, low, high in sorted(rows):
        print(f"| {name} | {seconds:.3g} s | {low:.3g}–{high:.3g} s | {ratio:.2f} |")
    near = sum(low / 1.1 <= seconds <= high * 1.1 for _, _, seconds, low, high in rows)
    print(f"\n{near} of {len(rows)} are in their interval or within 10 % of it.")


main()
