"""Slots as leaves of a tree, and what a placement costs there.

A hierarchy is written as VieM does, from the inside out: `4:2:8:8` has groups of 4 slots, hosts of 2 groups, racks of 8 hosts, and 8 racks; distances are written
the same way. Where domains are not alike, a level has a list that is gone through again and again: with `4,6:2:8` groups have 4 and 6 slots in turn.
"""
import numpy as np


class Hierarchy:
    """Slots, their domains at each level, and how far they are apart."""

    def __init__(self, counts, distances="1:2:10:20", host_levels=2):
        self.counts, self.distances, self.host_levels = counts, distances, host_levels
        lists = [[int(count) for count in level.split(",")] for level in counts.split(":")]
        self.is_uniform = all(len(level) == 1 for level in lists)
        self.far = [float(distance) for distance in distances.split(":")][::-1]
        parents = [np.zeros(1, dtype=np.int64)]
        for level in lists[::-1]:
            domains = len(parents[-1])
            sizes = np.resize(np.array(level), domains)
            parents.append(np.repeat(np.arange(domains), sizes))
        self.parents = parents[1:]
        # The domain of each slot at each level, from the whole machine down; the last level is the slots themselves.
        own = np.arange(len(parents[-1]))
        self.domains = [own]
        for parent in self.parents[::-1]:
            own = parent[own]
            self.domains.insert(0, own)
        self.slots = len(self.domains[-1])
        self.hosts = self.domains[len(lists) - host_levels]
        self.most = [max(level) for level in lists]

    def distance(self, a, b):
        """How far slots are apart, for arrays of them."""
        far = np.full(np.broadcast(a, b).shape, self.far[0])
        for level, distance in zip(self.domains[1:-1], self.far[1:]):
            far[level[a] == level[b]] = distance
        far[np.equal(a, b)] = 0
        return far

    def byte_distance(self, graph, slots):
        return float(np.sum(graph.weights * self.distance(slots[graph.a], slots[graph.b])))

    def busiest_host(self, graph, slots):
        """The most that passes the link of a host, both ways together."""
        a, b = self.hosts[slots[graph.a]], self.hosts[slots[graph.b]]
        across = a != b
        loads = np.zeros(self.hosts[-1] + 1)
        np.add.at(loads, a[across], graph.weights[across])
        np.add.at(loads, b[across], graph.weights[across])
        return float(loads.max())


def is_one_to_one(slots, hierarchy):
    """Whether every rank has a slot and no two the same."""
    return len(slots) == 0 or (slots.min() >= 0 and slots.max() < hierarchy.slots and len(np.unique(slots)) == len(slots))


def one_to_one(graph, hierarchy, slots):
    """Moves ranks that share a slot to free ones near it, each where it costs least; also how many were moved."""
    slots = slots.copy()
    taken = np.zeros(hierarchy.slots, dtype=bool)
    starts, to, weights = graph.arcs()
    cost = lambda rank, places: (weights[starts[rank]:starts[rank + 1]] * hierarchy.distance(
        np.asarray(places)[:, None], slots[to[starts[rank]:starts[rank + 1]]][None, :])).sum(axis=1)
    extra = []
    for rank, slot in enumerate(slots):
        if taken[slot]:
            extra.append(rank)
        taken[slot] = True
    free = np.flatnonzero(~taken)
    for rank in extra:
        middle = int(np.searchsorted(free, slots[rank]))
        near = free[max(0, middle - 64):middle + 64]
        best = near[int(np.argmin(cost(rank, near)))]
        slots[rank] = best
        free = np.delete(free, np.searchsorted(free, best))
    return slots, len(extra)
