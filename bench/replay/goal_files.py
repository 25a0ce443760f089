"""GOAL schedules of any size: what `loggopsim.py` lets both simulators play."""
import random


class Rank:
    """The text of one rank; operations are chained by default."""

    def __init__(self, number, out):
        self.out, self.count = out, 0
        out.write(f"rank {number} {{\n")

    def add(self, what, after=()):
        self.count += 1
        self.out.write(f"l{self.count}: {what}\n")
        for other in after:
            self.out.write(f"l{self.count} requires l{other}\n")
        return self.count

    def end(self):
        self.out.write("}\n\n")


def stencil(path, width, height, steps, size=8192):
    """A halo exchange with four neighbours, and each step a computation that waits for all of it."""
    with open(path, "w") as out:
        out.write(f"num_ranks {width * height}\n\n")
        for number in range(width * height):
            x, y = number % width, number // width
            sides = [(x + 1, y, 0, 1), (x - 1, y, 1, 0), (x, y + 1, 2, 3), (x, y - 1, 3, 2)]
            peers = [(v * width + u, there, back) for u, v, there, back in sides if 0 <= u < width and 0 <= v < height]
            rank, last = Rank(number, out), []
            for step in range(steps):
                work = rank.add(f"calc {100_000 + (number * 7919 + step * 104_729) % 5_000}", last)
                last = [rank.add(f"recv {size}b from {peer} tag {back}", [work]) for peer, _, back in peers]
                last += [rank.add(f"send {size}b to {peer} tag {there}", [work]) for peer, there, _ in peers]
            rank.end()


def dissemination(path, ranks, rounds, size=64):
    """Barriers one after the other."""
    with open(path, "w") as out:
        out.write(f"num_ranks {ranks}\n\n")
        for number in range(ranks):
            rank, last = Rank(number, out), []
            for turn in range(rounds):
                distance = 1
                while distance < ranks:
                    sent = rank.add(f"send {size}b to {(number + distance) % ranks} tag {turn}", last)
                    last = [sent, rank.add(f"recv {size}b from {(number - distance) % ranks} tag {turn}", last)]
                    distance *= 2
            rank.end()


def random_schedule(path, seed):
    """Any ranks, messages and dependencies; every message has its receive, and nothing waits for itself.

    Messages are drawn in one order for all ranks, and an operation waits only for earlier ones, so it always comes to its end; large
    messages too, since nobody waits for a send. At most 16 operations of a rank are free at once, where LogGOPSim's order is defined.
    """
    draw = random.Random(seed)
    ranks = draw.randint(2, 12)
    plans = [[] for _ in range(ranks)]
    for _ in range(draw.randint(5, 120)):
        source, tag = draw.randrange(ranks), draw.randrange(8)
        size = [1, 2, 8, 100, 5_000, 65_535, 65_536, 200_000][tag]  # Whichever send of a tag comes first, its receive has its size.
        target = draw.choice([rank for rank in range(ranks) if rank != source])
        plans[source].append(("send", f"send {size}b to {target} tag {tag}"))
        plans[target].append(("recv", f"recv {size}b from {source} tag {tag}"))
        if draw.random() < 0.6:
            plans[draw.randrange(ranks)].append(("calc", f"calc {draw.choice([0, 1, 700, 3_000, 20_000])}"))
    with open(path, "w") as out:
        out.write(f"num_ranks {ranks}\n\n")
        for number, plan in enumerate(plans):
            rank, kinds = Rank(number, out), []
            for kind, what in plan or [("calc", "calc 5")]:
                can = [place for place, other in enumerate(kinds, 1) if other != "send"][-6:]
                after = draw.sample(can, min(len(can), draw.choice([0, 1, 1, 1, 2])))
                if len(kinds) >= 8 and not after and can:
                    after = [can[-1]]
                begun = [place for place in range(max(1, rank.count - 4), rank.count + 1) if place not in after]
                place = rank.add(what, after)
                for other in draw.sample(begun, min(len(begun), draw.choice([0, 0, 1]))):
                    out.write(f"l{place} irequires l{other}\n")
                kinds.append(kind)
            rank.end()
