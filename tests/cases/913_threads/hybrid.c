// Two OpenMP threads per rank with known work: sleep, which takes as long on a busy machine. Each rank prints the time of each thread in each region, and
// the time outside regions, as measured with its own clock.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 2, ROUNDS = 10 };

static double work[2][THREADS], waiting[THREADS], duration[2], serial;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double pause_ms(double ms) {
    struct timespec t = {0, (long)(ms * 1e6)};
    double begin = now();
    nanosleep(&t, NULL);
    return now() - begin;
}

static void unequal(void) {
    double begin = now();
#pragma omp parallel num_threads(THREADS)
    work[0][omp_get_thread_num()] += pause_ms(omp_get_thread_num() ? 2 : 8);
    duration[0] += now() - begin;
}

static void exclusive(void) {
    double begin = now();
#pragma omp parallel num_threads(THREADS)
    {
        double before = now();
#pragma omp critical
        {
            waiting[omp_get_thread_num()] += now() - before;
            work[1][omp_get_thread_num()] += pause_ms(5);
        }
    }
    duration[1] += now() - begin;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        unequal();
        serial += pause_ms(4);
        exclusive();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int thread = 0; thread < THREADS; thread++)
        printf("rank %d thread %d unequal %f %f exclusive %f %f %f\n", rank, thread, duration[0], work[0][thread], duration[1], work[1][thread], waiting[thread]);
    MPI_Finalize();
    return 0;
}
