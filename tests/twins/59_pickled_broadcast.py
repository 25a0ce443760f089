"""Rank 0 broadcasts a table of 400000 numbers to the other rank in each of 10 steps, and both compute with it.

Problem: spread() broadcasts a Python list with the lower-case comm.bcast, which pickles and unpickles each number.
fixed: the table is an array, broadcast as a buffer with comm.Bcast.
"""
from array import array

from twin import comm, finish, fixed, rank, work

N = 400_000


def spread(table):
    if fixed:
        comm.Bcast(table, root=0)
        return table
    return comm.bcast(table if rank == 0 else None, root=0)  # PROBLEM


table = array("d", [1.5]) * N
if not fixed:
    table = list(table)
total = 0.0
for step in range(10):
    if rank == 0:
        table[step] += step
    table = spread(table)
    work(20)
    total += table[step]
total = comm.reduce(total, root=0)
finish(f"pickled_broadcast {total}")
