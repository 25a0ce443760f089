# Python: 40 pieces of 30,000 bytes, synchronised, and read again.
import os

from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
with open(f"python.{rank}", "wb") as file:
    for _ in range(40):
        file.write(b"x" * 30000)
    file.flush()
    os.fsync(file.fileno())
with open(f"python.{rank}", "rb") as file:
    assert len(file.read()) == 1200000
