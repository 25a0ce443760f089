// A known call tree. Each function spins for a share of the time on the processor, and the rank prints, for each stack, the time that it
// took by the thread's own clock. One rank has more to do, so that the other waits in MPI_Barrier.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile double sink;

static double cpu_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(long count)
{
    for (long i = 0; i < count; i++) sink += i * 0.5;
}

__attribute__((noipa)) void alpha(long count) { spin(count); }

__attribute__((noipa)) void beta(long count)
{
    for (long i = 0; i < count; i++) sink -= i * 0.25;
}

__attribute__((noipa)) void outer(long count, double *in_alpha, double *in_beta)
{
    double begin = cpu_time();
    alpha(count);
    double middle = cpu_time();
    beta(2 * count);
    *in_alpha += middle - begin;
    *in_beta += cpu_time() - middle;
}

int main(int argc, char **argv)
{
    double limit = atof(argv[1]), begin, alone = 0, in_beta = 0, outer_alpha = 0, outer_beta = 0, barrier = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin = cpu_time();
    while (cpu_time() - begin < limit * (rank == 0 ? 1 : 0.7)) {
        double start = cpu_time();
        alpha(300000);
        double middle = cpu_time();
        beta(100000);
        alone += middle - start;
        in_beta += cpu_time() - middle;
        outer(100000, &outer_alpha, &outer_beta);
    }
    begin = cpu_time();
    MPI_Barrier(MPI_COMM_WORLD);
    barrier = cpu_time() - begin;
    printf("ledger %d main;alpha;spin %.6f\n", rank, alone);
    printf("ledger %d main;beta %.6f\n", rank, in_beta);
    printf("ledger %d main;outer;alpha;spin %.6f\n", rank, outer_alpha);
    printf("ledger %d main;outer;beta %.6f\n", rank, outer_beta);
    printf("ledger %d main;MPI_Barrier %.6f\n", rank, barrier);
    MPI_Finalize();
    return 0;
}
