// The master thread calls MPI inside a region, where rank 1 is late, while the other thread works. Prints the time of the master in MPI, and the
// time in which threads worked.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double work(double ms) {
    double begin = now();
    struct timespec t = {0, (long)(ms * 1e6)};
    nanosleep(&t, NULL);
    return now() - begin;
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double mpi = 0, useful[2] = {0, 0};
    for (int round = 0; round < 8; round++) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            useful[0] += work(rank ? 20 : 5);
            double begin = now();
            MPI_Barrier(MPI_COMM_WORLD);
            mpi += now() - begin;
        } else
            useful[1] += work(10);
    }
    printf("mpi %.9f %.9f\n", mpi, useful[0] + useful[1]);
    fflush(stdout);
    MPI_Finalize();
}
