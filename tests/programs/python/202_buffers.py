# mpi4py, buffers without numpy: Send, Recv, Isend, Irecv, Waitall, Bcast, Allreduce in place, persistent requests.
# The record: rank 0 sends to 1 with tags 1, 2 and, five times, 3; all of 16 bytes.
# ranks: 2
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = array("i", [rank, 1, 2, 3])

if rank == 0:
    comm.Send([data, MPI.INT], dest=1, tag=1)
    comm.Isend([data, MPI.INT], dest=1, tag=2).Wait()
    request = comm.Send_init([data, MPI.INT], dest=1, tag=3)
else:
    into = array("i", [0] * 4)
    comm.Recv([into, MPI.INT], source=MPI.ANY_SOURCE, tag=1)
    MPI.Request.Waitall([comm.Irecv([into, MPI.INT], source=0, tag=2)])
    assert list(into) == [0, 1, 2, 3]
    request = comm.Recv_init([into, MPI.INT], source=0, tag=3)
for _ in range(5):
    request.Start()
    request.Wait()
request.Free()

comm.Bcast([data, MPI.INT], root=1)
comm.Allreduce(MPI.IN_PLACE, [data, MPI.INT], op=MPI.SUM)
if rank == 0:
    print(list(data))
