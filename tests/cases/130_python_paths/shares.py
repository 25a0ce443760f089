# Functions that compute known shares of the time, which the program measures itself; one of them computes in a library.
import sys
import time
import zlib

from mpi4py import MPI

DATA = bytes(range(256)) * 400


def count(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def alpha():
    return count(120_000)


class Worker:
    def beta(self):
        return sum(number & 3 for number in range(60_000))

    def compress(self):
        return len(zlib.compress(DATA, 9))


def measured(function, times, name):
    begin = time.thread_time()
    function()
    times[name] = times.get(name, 0.0) + time.thread_time() - begin


def main(seconds):
    times, worker, begin = {}, Worker(), time.thread_time()
    while time.thread_time() - begin < seconds:
        measured(alpha, times, "alpha")
        measured(worker.beta, times, "beta")
        measured(worker.compress, times, "compress")
    names = sorted(times)
    all_times = [MPI.COMM_WORLD.reduce(times[name]) for name in names]
    if MPI.COMM_WORLD.rank == 0:
        for name, spent in zip(names, all_times):
            print(name, spent / sum(all_times))


main(float(sys.argv[1]))
