"""Rows of a triangular matrix on 4 ranks; an all-reduce ends each step.

Problem: rows() gives each rank a block of equally many rows, but row i takes i times as long as row 1, so each rank has
more to do than the one before it, and rank 3 has seven times as much as rank 0.
fixed: the rows are dealt out in turn, and back again.
"""
from twin import MPI, comm, finish, fixed, rank, size, work

ROWS = 32


def rows():
    if fixed:
        return [r for r in range(ROWS) if rank in (r % (2 * size), 2 * size - 1 - r % (2 * size))]
    return range(rank * ROWS // size, (rank + 1) * ROWS // size)  # PROBLEM


def solve(mine):
    work(sum(row * 0.7 for row in mine))
    return sum(mine)


total = 0
for step in range(10):
    total += comm.allreduce(solve(rows()), MPI.SUM)
finish(f"triangle_rows {total}")
