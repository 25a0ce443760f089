"""A master (rank 0) and 4 workers with 30 tasks.

Problem: the master prepares each task itself (prepare, 50 ms) when a worker asks for it, one request after another, so
the workers wait for the master in comm.recv: it cannot keep four workers with tasks of 60 ms busy.
fixed: the master sends only the number of the task, and the worker prepares it.
"""
from twin import MPI, comm, finish, fixed, rank, size, work

TASKS = 30


def prepare(number):
    work(50)
    return {"number": number, "values": [number] * 10}


def compute(task):
    work(60)
    return sum(task["values"])


def master():
    total, status = 0, MPI.Status()
    for i in range(TASKS + size - 1):
        total += comm.recv(source=MPI.ANY_SOURCE, tag=1, status=status)
        if i >= TASKS:
            task = None
        elif fixed:
            task = i
        else:
            task = prepare(i)  # PROBLEM
        comm.send(task, dest=status.Get_source(), tag=2)
    return total


def worker():
    result = 0
    while True:
        comm.send(result, dest=0, tag=1)
        task = comm.recv(source=0, tag=2)
        if task is None:
            return
        result = compute(prepare(task) if fixed else task)


total = master() if rank == 0 else worker()
finish(f"slow_master {total}")
