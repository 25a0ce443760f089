import ctypes, os
from mpi4py import MPI

library = ctypes.CDLL(os.path.abspath("kernel.so"))


def work():
    library.kernel()


def left():
    work()


def right(): work() if not MPI.COMM_SELF.Get_rank() else None; MPI.COMM_SELF.Barrier()


left(), right()
