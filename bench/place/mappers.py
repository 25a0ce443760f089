"""Programs that place ranks: each takes a graph and a hierarchy and gives a slot for every rank, and says how much processor time that took.

METIS and KaHIP only cut graphs. They are used from the top of the hierarchy down, one cut for each domain that has an edge inside; parts that came out too large give
away the ranks that lose least. Scotch may put several ranks on a slot; they are moved to free ones near by, where they lose least. What had to be moved is counted.
"""
import heapq
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from graphs import Graph
from slots import one_to_one

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MAP = Path(os.environ.get("MAP", TARGET / "release" / "examples" / "map"))
VIEM = Path(os.environ.get("VIEM", "/nonexistent"))


class Failed(Exception):
    """A program came to no end, or to a wrong one."""


def run(words, folder, limit):
    """Runs a program for at most so many seconds of processor, and gives how many it took."""
    bound = lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with open(folder / "said", "w+") as said:
        child = subprocess.Popen(list(map(str, words)), stdout=said, stderr=subprocess.STDOUT, cwd=folder, preexec_fn=bound)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if child.returncode != 0:
            raise Failed("too long" if child.returncode == -signal.SIGKILL else said.read()[-300:] or f"exit {child.returncode}")
    return used.ru_utime + used.ru_stime


class Placed:
    """A slot for every rank, the seconds it took, and how many ranks had to be moved to make it one to one."""

    def __init__(self, slots, seconds, moved=0):
        self.slots, self.seconds, self.moved = slots, seconds, moved


class Mapper:
    """A way to place ranks: its name, whether it is there, the most ranks it is asked for, whether hosts may differ, and what it does."""

    def __init__(self, name, there, place, most=1 << 21, takes_unequal=True):
        self.name, self.there, self.place, self.most, self.takes_unequal = name, there, place, most, takes_unequal


# --- cuts from the top down ---------------------------------------------------------------------------------------------------------------------

def top_down(graph, hierarchy, cut):
    """Places by cuts of every domain; `cut` gives the part of each rank of a graph, for parts of these sizes, and its seconds."""
    domain = np.zeros(graph.ranks, dtype=np.int64)
    seconds, moved = 0.0, 0
    for level, parent in enumerate(hierarchy.parents[:-1]):
        child_sizes = np.bincount(hierarchy.domains[level + 1])
        first_child = np.searchsorted(parent, np.arange(parent[-1] + 2))
        ranks_in_order = np.argsort(domain, kind="stable")
        begins = np.searchsorted(domain[ranks_in_order], np.arange(parent[-1] + 2))
        name = np.empty(graph.ranks, dtype=np.int64)
        name[ranks_in_order] = np.arange(graph.ranks) - begins[domain[ranks_in_order]]
        inside = np.flatnonzero(domain[graph.a] == domain[graph.b])
        inside = inside[np.argsort(domain[graph.a[inside]], kind="stable")]
        edge_begins = np.searchsorted(domain[graph.a[inside]], np.arange(parent[-1] + 2))
        finer = np.empty_like(domain)
        for own in range(parent[-1] + 1):
            ranks = ranks_in_order[begins[own]:begins[own + 1]]
            edges = inside[edge_begins[own]:edge_begins[own + 1]]
            sizes = child_sizes[first_child[own]:first_child[own + 1]]
            part = np.repeat(np.arange(len(sizes)), sizes)
            if len(sizes) > 1 and len(edges):
                piece = Graph(len(ranks), name[graph.a[edges]], name[graph.b[edges]], graph.weights[edges])
                part, took = cut(piece, sizes)
                seconds += took
                part, exchanged = exact(piece, part, sizes)
                moved += exchanged
            finer[ranks] = first_child[own] + part
        domain = finer
    order = np.argsort(domain, kind="stable")
    slots = np.empty(graph.ranks, dtype=np.int64)
    slots[order] = np.arange(graph.ranks)
    return Placed(slots, seconds, moved)


def exact(graph, part, sizes):
    """Moves ranks out of parts that are too large, those first that lose least; also how many."""
    part = np.asarray(part).copy()
    starts, to, weights = graph.arcs()
    excess = np.bincount(part, minlength=len(sizes)) - sizes

    def best_move(rank):
        """What is lost at least by moving the rank where there is room, and where that is."""
        held = np.bincount(part[to[starts[rank]:starts[rank + 1]]], weights=weights[starts[rank]:starts[rank + 1]], minlength=len(sizes))
        there = np.flatnonzero(excess < 0)
        there = there[int(np.argmax(held[there]))]
        return held[part[rank]] - held[there], rank, there

    moves = [best_move(rank) for rank in np.flatnonzero(excess[part] > 0)]
    heapq.heapify(moves)
    moved = 0
    while np.any(excess > 0):
        loss, rank, there = heapq.heappop(moves)
        if excess[part[rank]] <= 0:
            continue
        now = best_move(rank)
        if now[0] > loss:
            heapq.heappush(moves, now)
            continue
        excess[part[rank]] -= 1
        excess[now[2]] += 1
        part[rank] = now[2]
        moved += 1
        for other in to[starts[rank]:starts[rank + 1]]:
            if excess[part[other]] > 0:
                heapq.heappush(moves, best_move(other))
    return part, moved


def metis_cut(folder, options):
    def cut(graph, sizes):
        graph.write_metis(folder / "piece.graph")
        words = ["gpmetis", *options, "-ufactor=1"]
        if len(set(sizes)) > 1:
            (folder / "shares").write_text("".join(f"{part} = {size / sum(sizes):.9f}\n" for part, size in enumerate(sizes)))
            words.append("-tpwgts=shares")
        seconds = run([*words, "piece.graph", len(sizes)], folder, 600)
        return np.loadtxt(folder / f"piece.graph.part.{len(sizes)}", dtype=np.int64, ndmin=1), seconds

    return cut


def metis(*options):
    return lambda graph, hierarchy, folder, limit: top_down(graph, hierarchy, metis_cut(folder, options))


def kahip(mode):
    def place(graph, hierarchy, folder, limit):
        np.savez(folder / "piece.npz", ranks=graph.ranks, a=graph.a, b=graph.b, weights=graph.weights)
        run([sys.executable, Path(__file__), "kahip", mode, hierarchy.counts, hierarchy.distances], folder, limit)
        placed = np.load(folder / "placed.npz")
        return Placed(placed["slots"], float(placed["seconds"]), int(placed["moved"]))

    return place


def kahip_alone(mode, counts, distances):
    """What runs in a process of its own: the library would end ours with itself."""
    import time

    import kahip as library

    from slots import Hierarchy
    piece = np.load("piece.npz")

    def cut(graph, sizes):
        starts, to, weights = graph.arcs()
        began = time.process_time()
        _, part = library.kaffpa([1] * graph.ranks, starts.tolist(), weights.tolist(), to.tolist(), len(sizes), 0.0, True, 1, getattr(library, mode))
        return np.array(part), time.process_time() - began

    placed = top_down(Graph(int(piece["ranks"]), piece["a"], piece["b"], piece["weights"]), Hierarchy(counts, distances), cut)
    np.savez("placed.npz", slots=placed.slots, seconds=placed.seconds, moved=placed.moved)


# --- mappers ------------------------------------------------------------------------------------------------------------------------------------

def identity(graph, hierarchy, folder, limit):
    return Placed(np.arange(graph.ranks), 0.0)


def random(graph, hierarchy, folder, limit):
    return Placed(np.random.default_rng(7).permutation(hierarchy.slots)[:graph.ranks], 0.0)


def scotch(*options):
    def place(graph, hierarchy, folder, limit):
        graph.write_scotch(folder / "all.grf")
        levels = [word for most, far in zip(hierarchy.most[::-1], hierarchy.far) for word in (most, int(far))]
        tree = f"tleaf {len(hierarchy.most)} {' '.join(map(str, levels))}\n"
        (folder / "all.tgt").write_text(tree if hierarchy.is_uniform else f"sub {hierarchy.slots} {' '.join(map(str, places_in_tree(hierarchy)))} {tree}")
        seconds = run(["scotch_gmap", *options, "all.grf", "all.tgt", "all.map"], folder, limit)
        found = np.loadtxt(folder / "all.map", dtype=np.int64, skiprows=1, ndmin=2)
        slots = np.empty(graph.ranks, dtype=np.int64)
        slots[found[:, 0]] = found[:, 1]
        slots, moved = one_to_one(graph, hierarchy, slots)
        return Placed(slots, seconds, moved)

    return place


def places_in_tree(hierarchy):
    """Where each slot is in a tree whose domains are all as large as the largest."""
    place = np.zeros(1, dtype=np.int64)
    for parent, most in zip(hierarchy.parents, hierarchy.most[::-1]):
        own = np.arange(len(parent)) - np.searchsorted(parent, parent)
        place = place[parent] * most + own
    return place


def viem(*options):
    def place(graph, hierarchy, folder, limit):
        graph.write_metis(folder / "all.graph")
        strings = [f"--hierarchy_parameter_string={hierarchy.counts}", f"--distance_parameter_string={hierarchy.distances}"]
        seconds = run([VIEM, "all.graph", *strings, *options], folder, limit)
        return Placed(np.loadtxt(folder / "permutation", dtype=np.int64, ndmin=1), seconds)

    return place


def sintonia(*options):
    def place(graph, hierarchy, folder, limit):
        graph.write_metis(folder / "all.graph")
        seconds = run([MAP, "all.graph", hierarchy.counts, hierarchy.distances, "all.slots", *options], folder, limit)
        return Placed(np.loadtxt(folder / "all.slots", dtype=np.int64, ndmin=1), seconds)

    return place


def has_kahip():
    return subprocess.run([sys.executable, "-c", "import kahip"], capture_output=True, check=False).returncode == 0


def ours():
    return [Mapper("Sintonia", MAP.exists(), sintonia()), Mapper("Sintonia, busiest link", MAP.exists(), sintonia("--congestion"))]


def peers():
    has_scotch = shutil.which("scotch_gmap") is not None
    return [
        Mapper("identity", True, identity),
        Mapper("random", True, random),
        Mapper("gpmetis by level", shutil.which("gpmetis") is not None, metis("-ptype=rb", "-niter=20")),
        Mapper("gpmetis k-way by level", shutil.which("gpmetis") is not None, metis("-ptype=kway"), most=20_000),
        Mapper("scotch_gmap", has_scotch, scotch(), most=200_000),
        Mapper("scotch_gmap -b0.01", has_scotch, scotch("-b0.01", "-cq"), most=20_000),
        Mapper("scotch_gmap -cb", has_scotch, scotch("-cb"), most=20_000),
        Mapper("scotch_gmap -b0", has_scotch, scotch("-b0"), most=20_000),
        Mapper("kaffpa by level", has_kahip(), kahip("STRONG"), most=5_000, takes_unequal=False),
        Mapper("VieM", VIEM.exists(), viem(), most=5_000, takes_unequal=False),
        Mapper("VieM strong", VIEM.exists(), viem("--preconfiguration_mapping=strong"), most=2_000, takes_unequal=False),
    ]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kahip_alone(*sys.argv[2:])
