"""How good placements are, beside those of other programs: bytes times distance, the busiest host's link, and processor time.

    python3 bench/place/quality.py [--only TEXT] [--most RANKS] [--results FOLDER] [--again NAME] [--check]

Graphs are patterns of programs, made from a seed, and runs recorded here; every slot has room for one rank, and there are as many slots as ranks. Who is asked:
gpmetis (Debian's metis), scotch_gmap (Debian's scotch), kaffpa (`kahip` of PyPI) and VieM (the program that VIEM names); who is not there is
left out. Sintonia is the example `map` (cargo build --release -p sintonia-placement --example map), or the program that MAP
names. numpy is needed. What others found is kept in the folder of results, and not asked again unless `--again` names it; Sintonia is asked anew each time.

Time is processor time, and only that of the programs themselves. A placement that is not one to one ends with an error; --check looks at nothing else and takes small graphs.
"""
import argparse
import hashlib
import json
import math
import resource
import sys
import tempfile
from pathlib import Path

import mappers
import recorded
from graphs import conjugate_gradient, geometric, halo, power_law, read_metis, rows_and_columns, stencil
from mappers import Failed
from slots import Hierarchy, is_one_to_one

TOLERANCE = 1.001
LIMIT = 600


class Instance:
    """A graph, and the slots it is placed on."""

    def __init__(self, name, make, counts, **more):
        self.name, self.make, self.hierarchy = name, make, Hierarchy(counts, **more)


def generated():
    def made(name, counts, make, **more):
        return Instance(f"{name}, {counts}", lambda results: make(), counts, **more)

    faces = halo(16)
    return [
        made("stencil5 32x32", "4:2:8:16", lambda: stencil((32, 32), 1)),
        made("stencil7 8x8x8", "4:2:8:8", lambda: stencil((8, 8, 8), 1)),
        made("stencil7 8x8x8 shuffled", "4:2:8:8", lambda: stencil((8, 8, 8), 1).shuffled(1)),
        made("stencil9 30x32 shuffled", "12:2:10:4", lambda: stencil((30, 32), 2).shuffled(2)),
        made("stencil27 8x8x8 shuffled", "4:2:8:8", lambda: stencil((8, 8, 8), 3).shuffled(3)),
        made("stencil27 8x10x12", "12:2:10:4", lambda: stencil((8, 10, 12), 3)),
        made("stencil27 8x8x16 halo shuffled", "16:2:8:4", lambda: stencil((8, 8, 16), 3, faces).shuffled(4)),
        made("stencil7 10x10x10 periodic", "5:2:10:10", lambda: stencil((10, 10, 10), 1, periodic=True)),
        made("stencil27 16x16x16", "16:4:16:4", lambda: stencil((16, 16, 16), 3)),
        made("stencil7 16x16x16 shuffled", "16:4:16:4", lambda: stencil((16, 16, 16), 1).shuffled(5)),
        made("geometric 1024", "8:2:16:4", lambda: geometric(1024, 8, 6)),
        made("geometric 4096", "16:2:16:8", lambda: geometric(4096, 12, 7)),
        made("CG 256", "4:2:8:4", lambda: conjugate_gradient(256)),
        made("CG 1024", "8:2:8:8", lambda: conjugate_gradient(1024)),
        made("CG 2048 shuffled", "8:2:16:8", lambda: conjugate_gradient(2048).shuffled(8)),
        made("rows and columns 16x32", "4:2:8:8", lambda: rows_and_columns(16, 32)),
        made("rows and columns 24x40 shuffled", "12:2:10:4", lambda: rows_and_columns(24, 40).shuffled(9)),
        made("power law 1024", "4:2:8:16", lambda: power_law(1024, 4, 10)),
        made("power law 4096", "16:2:16:8", lambda: power_law(4096, 5, 11)),
        made("stencil7 8x9x10", "6,4:2:8:9", lambda: stencil((8, 9, 10), 1)),
        made("stencil27 8x9x10 shuffled", "6,4:2:8:9", lambda: stencil((8, 9, 10), 3).shuffled(12)),
        made("geometric 1000", "8:2,3:10:5", lambda: geometric(1000, 8, 13)),
        made("power law 896", "4:2,4,1:12:8", lambda: power_law(896, 4, 14)),
        made("CG 512", "8,4,4:2:12:4", lambda: conjugate_gradient(512)),
        made("stencil7 32x32x16 shuffled", "16:2:32:16", lambda: stencil((32, 32, 16), 1).shuffled(15)),
        made("geometric 16384", "16:2:32:16", lambda: geometric(16_384, 10, 16)),
        made("power law 16384", "16:2:32:16", lambda: power_law(16_384, 5, 17)),
        made("stencil27 48x48x48", "24:2:48:48", lambda: stencil((48, 48, 48), 3)),
        made("stencil7 64x64x32 shuffled", "32:2:64:32", lambda: stencil((64, 64, 32), 1).shuffled(18)),
        made("geometric 131072", "32:2:64:32", lambda: geometric(131_072, 10, 19)),
        made("power law 131072", "32:2:64:32", lambda: power_law(131_072, 5, 20)),
        made("stencil7 128x128x64", "32:2:128:128", lambda: stencil((128, 128, 64), 1)),
        made("geometric 1048576", "32:2:128:128", lambda: geometric(1 << 20, 8, 21)),
    ]


def of_runs():
    def run(name, ranks, counts, rows=None, **more):
        return Instance(f"recorded {name} {ranks}, {counts}", lambda results: read_metis(recorded.graph(results, name, ranks, rows)), counts, **more)

    few = {"distances": "1:2:10"}
    return [
        run("hpl", 16, "2:2:4", rows=4, **few),
        run("hpl", 32, "2:4:4", rows=4, **few),
        run("hpl", 36, "4,2:2:6", rows=6, **few),
        run("stencil", 36, "3:2:6", **few),
        run("stencil", 64, "4:2:8", **few),
        run("conjugate", 32, "4:2:4", **few),
        run("transpose_fft", 16, "2:2:4", **few),
        run("pencils", 32, "2:2:8", **few),
        run("pencils", 48, "4:3:4", **few),
        run("unstructured", 40, "4:2:5", **few),
        run("unstructured", 64, "4:2:8", **few),
        run("blocks", 27, "3,6:2:3", **few),
        run("blocks", 64, "4:2:8", **few),
    ]


class Found:
    """What a mapper came to on an instance."""

    def __init__(self, byte_distance, busiest, seconds, moved):
        self.byte_distance, self.busiest, self.seconds, self.moved = byte_distance, busiest, seconds, moved


def ask(mapper, graph, instance):
    """Has a mapper place the graph; the words of a failure where there is no placement."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            placed = mapper.place(graph, instance.hierarchy, Path(folder), LIMIT)
        except Failed as failure:
            return str(failure).strip() or "failed"
    if not is_one_to_one(placed.slots, instance.hierarchy) or len(placed.slots) != graph.ranks:
        sys.exit(f"{mapper.name} on {instance.name}: not every rank has a slot of its own")
    hierarchy = instance.hierarchy
    return Found(hierarchy.byte_distance(graph, placed.slots), hierarchy.busiest_host(graph, placed.slots), placed.seconds, placed.moved)


def ask_once(mapper, graph, instance, results, again):
    """The same from the folder of results where it is there: a graph has a name of its own by what is in it."""
    content = hashlib.sha1(b"".join(part.tobytes() for part in (graph.a, graph.b, graph.weights))).hexdigest()[:12]
    path = results / "peers" / f"{content}-{instance.hierarchy.counts}-{mapper.name}.json".replace(" ", "_").replace(":", ".")
    if path.exists() and mapper.name not in again:
        kept = json.loads(path.read_text())
        return kept if isinstance(kept, str) else Found(**kept)
    found = ask(mapper, graph, instance)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found if isinstance(found, str) else vars(found)))
    return found


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def cell(found, best, value):
    if found is None:
        return ""
    if isinstance(found, str):
        return found[:20].replace("\n", " ")
    ratio = value(found) / best if best else 1.0
    return f"{ratio:.3f} {found.seconds:.2f}s{f' +{found.moved}' if found.moved else ''}"


def table(title, rows, names, value, own, peers):
    """Prints each mapper's value by the best of all, and how the one of `own` compares with the best peer."""
    lines = [f"\n**{title}**, by the best; processor seconds; + how many ranks had to be moved to slots of their own\n",
             f"| instance | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    ratios = []
    for name, row in rows:
        values = {mapper: value(found) for mapper, found in row.items() if isinstance(found, Found)}
        best = min(values.values())
        lines.append(f"| {name} | {' | '.join(cell(row.get(mapper), best, value) for mapper in names)} |")
        rivals = [values[peer] for peer in peers if peer in values]
        if own in values and rivals:
            ratios.append(values[own] / min(rivals) if min(rivals) else 1.0)
    if ratios:
        good = sum(ratio <= TOLERANCE for ratio in ratios)
        lines.append(f"\n{own}: no worse than the best peer on {good} of {len(ratios)} ({good / len(ratios):.0%}); geometric mean of the ratio to it {geometric_mean(ratios):.4f}, "
                     f"{min(ratios):.3f} to {max(ratios):.3f}")
    return "\n".join(lines)


def measure(instances, peers, ours, chosen):
    rows = []
    for instance in instances:
        try:
            graph = instance.make(chosen.results)
        except (RuntimeError, OSError) as reason:
            print(f"{instance.name}: could not be made: {reason}", file=sys.stderr)
            continue
        row = {}
        for mapper in [*peers, *ours]:
            if graph.ranks <= mapper.most and (mapper.takes_unequal or instance.hierarchy.is_uniform):
                row[mapper.name] = ask(mapper, graph, instance) if mapper in ours else ask_once(mapper, graph, instance, chosen.results, chosen.again)
        print(f"{instance.name}: {graph.ranks:,} ranks, {len(graph.a):,} edges", file=sys.stderr, flush=True)
        rows.append((instance.name, row))
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", help="only the instances with this in their name")
    options.add_argument("--most", type=int, default=1 << 21, help="only the instances with no more ranks")
    options.add_argument("--results", type=Path, default=mappers.TARGET / "bench" / "place", help="where graphs of runs and what others found are kept")
    options.add_argument("--again", action="append", default=[], help="a peer that is asked again")
    options.add_argument("--check", action="store_true", help="only whether every placement of small graphs is one to one")
    chosen = options.parse_args()
    chosen.results = chosen.results.resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    peers, ours = mappers.peers(), mappers.ours()
    for mapper in [*peers, *ours]:
        if not mapper.there:
            print(f"{mapper.name} is not there; the beginning of this file says where it is looked for", file=sys.stderr)
    peers, ours = ([mapper for mapper in some if mapper.there] for some in (peers, ours))
    most = min(chosen.most, 1_100) if chosen.check else chosen.most
    instances = [one for one in [*of_runs(), *generated()] if (not chosen.only or chosen.only in one.name) and one.hierarchy.slots <= most]
    rows = measure(instances, peers, ours, chosen)
    if chosen.check:
        print(f"every placement of {len(rows)} graphs is one to one")
        return 0
    names, rivals = [mapper.name for mapper in [*peers, *ours]], [mapper.name for mapper in peers]
    text = "\n".join([
        table("Bytes times distance", rows, names, lambda found: found.byte_distance, "Sintonia", rivals),
        table("The busiest host's link", rows, names, lambda found: found.busiest, "Sintonia, busiest link", rivals),
    ])
    print(text)
    (chosen.results / "quality.md").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
