"""Extra-P on the tables of crates/fit/tests/interval_coverage.rs, predicted two, four and ten times beyond.

    SINTONIA_TEST_COVERAGE=all SINTONIA_TEST_TABLES=tables.jsonl cargo test --release -p sintonia-fit --test interval_coverage -- --nocapture
    python3 bench/fit/beyond.py tables.jsonl [--tables 20]

Prints, for each condition and law, the median error at each distance; Extra-P gives no intervals. The test prints the same of ours.
"""
import argparse
import json
import statistics
from pathlib import Path
from types import SimpleNamespace

from compare import in_environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tables", type=int, default=20, help="tables of each law and condition")
    options = parser.parse_args()
    in_environment()
    from peers import ExtraP
    extra_p = ExtraP()
    errors = {}
    for line in options.file.read_text().splitlines():
        table = json.loads(line)
        found = errors.setdefault(table["title"], {}).setdefault(table["law"], [])
        if len(found) < options.tables:
            task = SimpleNamespace(parameters=table["parameters"], points=table["points"], values=table["values"], at=table["at"])
            predicted = extra_p.fit(task)["predicted"]
            found.append([abs(value / truth - 1) for value, truth in zip(predicted, table["truth"])])
    for title, laws in errors.items():
        print(f"\n{title}\n\n| law | error of Extra-P, % |\n|---|--:|")
        medians = {law: [100 * statistics.median(each) for each in zip(*found)] for law, found in laws.items()}
        for law, at in medians.items():
            print(f"| {law} | {' '.join(f'{error:.1f}' for error in at)} |", flush=True)
        print(f"| median of the laws | {' '.join(f'{statistics.median(each):.1f}' for each in zip(*medians.values()))} |", flush=True)


if __name__ == "__main__":
    main()
