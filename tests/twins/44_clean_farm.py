"""Clean: a master (rank 0) hands out 48 tasks of 80 to 120 ms to 4 workers, each of which always has its next task waiting.

No problem worth naming: the tasks are neither too large nor too small, and the master has nothing else to do.
"""
from twin import MPI, comm, finish, rank, size, work

TASKS = 48


def compute(task):
    work(80 + task * 7 % 5 * 10)
    return task * task


def master():
    total, handed_out, status = 0, 0, MPI.Status()
    for _ in range(2):  # two tasks for each worker to begin with
        for worker in range(1, size):
            comm.send(handed_out, dest=worker, tag=1)
            handed_out += 1
    for _ in range(TASKS):
        total += comm.recv(source=MPI.ANY_SOURCE, tag=2, status=status)
        if handed_out < TASKS:
            comm.send(handed_out, dest=status.Get_source(), tag=1)
            handed_out += 1
    for worker in range(1, size):
        comm.send(None, dest=worker, tag=1)
    return total


def worker():
    while (task := comm.recv(source=0, tag=1)) is not None:
        comm.send(compute(task), dest=0, tag=2)


total = master() if rank == 0 else worker()
finish(f"clean_farm {total}")
