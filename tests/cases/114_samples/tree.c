/* A known call tree: each function computes a known share of the time, which the program measures itself.
 * tree SECONDS [slow]: with `slow`, rank 1 computes twice as long in `alpha`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile double sink;

static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static inline __attribute__((always_inline)) void inlined(long n) {
    for (long i = 0; i < n; i++) sink += i * 0.5;
}
__attribute__((noinline)) void alpha(long n) {
    inlined(n);
    sink += 1;
}
__attribute__((noinline)) void beta(long n) {
    for (long i = 0; i < n; i++) sink -= i * 0.25;
}
__attribute__((noinline)) void both(long n) {
    alpha(n / 2);
    beta(n / 2);
    sink += 1;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double seconds = atof(argv[1]);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long twice = argc > 2 && !strcmp(argv[2], "slow") && rank == 1 ? 2 : 1;
    double own[3] = {0, 0, 0}, all[3], begin = cpu_time();
    for (int round = 0; cpu_time() - begin < seconds; round++) {
        double t0 = cpu_time();
        alpha(9000000 * twice);
        double t1 = cpu_time();
        beta(3000000);
        double t2 = cpu_time();
        both(6000000);
        double t3 = cpu_time();
        own[0] += t1 - t0;
        own[1] += t2 - t1;
        own[2] += t3 - t2;
        if (argc > 2) MPI_Barrier(MPI_COMM_WORLD);
        if (argc > 2 && round == 19) break;
    }
    MPI_Reduce(own, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double sum = all[0] + all[1] + all[2];
    if (rank == 0) printf("alpha %f\nbeta %f\nboth %f\n", all[0] / sum, all[1] / sum, all[2] / sum);
    MPI_Finalize();
    return 0;
}
