"""A coordinator (rank 0) hands out parts of a parameter study, 240 points, to 3 workers.

Problem: the study is cut into 4 parts (POINTS), so one worker computes a second part while the other two are idle.
fixed: 24 parts of 10 points.
"""
from twin import MPI, comm, finish, fixed, rank, size, work

POINTS = 10 if fixed else 60  # PROBLEM


def evaluate(first):
    work(10 * POINTS)
    return sum(range(first, first + POINTS))


def coordinate():
    total, status = 0, MPI.Status()
    firsts = list(range(0, 240, POINTS))
    active = size - 1
    while active:
        total += comm.recv(source=MPI.ANY_SOURCE, tag=1, status=status)
        first = firsts.pop(0) if firsts else None
        comm.send(first, dest=status.Get_source(), tag=2)
        active -= first is None
    return total


def serve():
    result = 0
    while True:
        comm.send(result, dest=0, tag=1)
        first = comm.recv(source=0, tag=2)
        if first is None:
            return None
        result = evaluate(first)


total = coordinate() if rank == 0 else serve()
finish(f"few_batches {total}")
