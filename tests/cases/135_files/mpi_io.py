# Writes a file of all ranks through mpi4py.
from mpi4py import MPI

comm = MPI.COMM_WORLD
block = bytearray(1000)


def write_blocks(file):
    for step in range(3):
        file.Write_at_all((step * comm.size + comm.rank) * len(block), block)


file = MPI.File.Open(comm, "python.shared", MPI.MODE_CREATE | MPI.MODE_WRONLY)
write_blocks(file)
file.Close()
