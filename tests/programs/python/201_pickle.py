# mpi4py, pickled objects: send, recv with wildcards, bcast, gather, scatter, allreduce, alltoall, isend and irecv.
# The record: messages from 1 to 0 (mpi4py probes, then receives); the collectives of mpi4py's pickled forms.
# ranks: 3
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

if rank == 1:
    comm.send({"name": "one", "values": [1, 2, 3]}, dest=0, tag=7)
    comm.isend("later", dest=0, tag=8).wait()
elif rank == 0:
    status = MPI.Status()
    print(comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status), status.source, status.tag)
    print(comm.irecv(source=1, tag=8).wait())

word = comm.bcast("hello" if rank == 2 else None, root=2)
everyone = comm.gather(rank * rank, root=0)
mine = comm.scatter([10, 20, 30] if rank == 0 else None, root=0)
total = comm.allreduce(mine)
swapped = comm.alltoall([rank * 10 + other for other in range(size)])
if rank == 0:
    print(word, everyone, mine, total, swapped)
