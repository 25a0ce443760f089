# mpi4py, communicators, errors and one-sided: Split with reversed keys, Create_cart, an exception from a bad rank, a window.
# The record: world rank 2 sends to world rank 1 in the reversed communicator.
# ranks: 3
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
backwards = world.Split(0, -world.rank)
if backwards.rank == 0:
    backwards.send("from the last", dest=1, tag=5)
elif backwards.rank == 1:
    assert backwards.recv(source=0, tag=5) == "from the last"
backwards.Free()

ring = world.Create_cart([world.size], periods=[True])
left, right = ring.Shift(0, 1)
got = ring.sendrecv(world.rank, dest=right, source=left)
assert got == left
ring.Free()

try:
    world.send(None, dest=99)
except MPI.Exception as error:
    if world.rank == 0:
        print("error class is right:", error.Get_error_class() == MPI.ERR_RANK)

memory = array("i", [0])
window = MPI.Win.Create(memory, 4, comm=world)
window.Fence()
if world.rank > 0:
    window.Accumulate([array("i", [world.rank]), MPI.INT], 0, op=MPI.SUM)
window.Fence()
window.Free()
if world.rank == 0:
    print("accumulated", memory[0])
