"""Histograms of 4 ranks are added up in each of 6 steps.

Problem: combine() gathers the histograms of all ranks on rank 0, which adds them up alone in a Python loop, while the
others wait for the total in comm.Bcast.
fixed: comm.Allreduce adds them up inside the library.
"""
from array import array

from twin import MPI, comm, finish, fixed, rank, size, work

BINS = 100_000


def fill(step):
    work(100)
    return array("d", [rank + step]) * BINS


def combine(mine):
    total = array("d", bytes(8 * BINS))
    if fixed:
        comm.Allreduce(mine, total, op=MPI.SUM)
        return total
    everything = array("d", bytes(8 * BINS * size)) if rank == 0 else None
    comm.Gather(mine, everything, root=0)
    if rank == 0:
        for i in range(BINS):  # PROBLEM
            for r in range(size):
                total[i] += everything[r * BINS + i]
    comm.Bcast(total, root=0)
    return total


result = 0
for step in range(6):
    result += sum(combine(fill(step)))
finish(f"gather_to_sum {result:.0f}")
