// Threads that wait for a critical section, or with the argument `free` do the same without it. Each rank prints the time of its regions, and how long its
// threads waited before the critical section. Work is sleep: it takes as long on a busy machine.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, ROUNDS = 5 };

static double waited[THREADS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void pause_ms(double ms) {
    struct timespec t = {0, (long)(ms * 1e6)};
    nanosleep(&t, NULL);
}

static void with_lock(omp_lock_t *lock) {
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 3; i++) {
        pause_ms(5);
        double begin = now();
#pragma omp critical(sum)
        {
            waited[omp_get_thread_num()] += now() - begin;
            pause_ms(15);
        }
        omp_set_lock(lock);
        pause_ms(1);
        omp_unset_lock(lock);
    }
}

static void without_lock(void) {
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 3; i++) {
        pause_ms(5);
        pause_ms(15);
        pause_ms(1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_lock_t lock;
    omp_init_lock(&lock);
    int is_free = argc > 1 && strcmp(argv[1], "free") == 0;
    double begin = now();
    for (int round = 0; round < ROUNDS; round++) {
        if (is_free)
            without_lock();
        else
            with_lock(&lock);
    }
    double seconds = now() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d %f %f %f\n", rank, seconds, waited[0], waited[1]);
    MPI_Finalize();
    return 0;
}
