"""What all Python programs of this folder share: start, work, end."""
import os
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
fixed = sys.argv[1:2] == ["fixed"]
start_time = MPI.Wtime()


def work(ms):
    """Stands for a computation of so many milliseconds; needs no processor."""
    time.sleep(ms / 1e3)


def finish(text):
    """Prints the result on rank 0 and, where TWIN_TIME is set, the elapsed time of the slowest rank."""
    elapsed = MPI.Wtime() - start_time
    if rank == 0:
        print(text, flush=True)
    if "TWIN_TIME" in os.environ:
        longest = comm.reduce(elapsed, MPI.MAX, root=0)
        if rank == 0:
            print(f"TIME {longest:.3f}", file=sys.stderr, flush=True)
