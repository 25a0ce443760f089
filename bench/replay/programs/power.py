"""The largest eigenvalue of a dense symmetric matrix by power iteration: rows dealt out to the processes, the vector gathered by all in
every iteration.    mpirun -n 2 python3 power.py N [ITERATIONS]"""

import sys

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 50
rows = n // world.size
first = rows * world.rank
i = numpy.arange(first, first + rows)[:, None]
matrix = 1.0 / (1.0 + numpy.abs(i - numpy.arange(n)[None, :]))
vector = numpy.ones(n)
for _ in range(iterations):
    part = matrix @ vector
    square = world.allreduce(float(part @ part), op=MPI.SUM)
    part /= square**0.5
    world.Allgather(part, vector)
if world.rank == 0:
    print("eigenvalue", round(square**0.5, 6))
