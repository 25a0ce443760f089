"""Two ranks exchange 300000 numbers in each of 10 steps and compute with them.

Problem: exchange() sends a Python list with the lower-case comm.sendrecv, which pickles and unpickles each number.
fixed: the numbers are kept in an array and sent as a buffer with comm.Sendrecv.
"""
from array import array

from twin import comm, finish, fixed, rank, work

N = 300_000
partner = 1 - rank


def exchange(values):
    if fixed:
        received = array("d", bytes(8 * N))
        comm.Sendrecv(values, partner, recvbuf=received, source=partner)
        return received
    return comm.sendrecv(values, dest=partner, source=partner)  # PROBLEM


def relax(received, step):
    work(30)
    received[0] += step + rank
    return received


values = array("d", [rank + 0.5]) * N
if not fixed:
    values = list(values)
for step in range(10):
    values = relax(exchange(values), step)
total = comm.reduce(sum(values), root=0)
finish(f"pickled_lists {total}")
