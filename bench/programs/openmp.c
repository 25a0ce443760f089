/* What the constructs of OpenMP cost that do nothing: a region of one thread, a region of two, a barrier between two, a critical section.
 * openmp [BATCHES [REPETITIONS]]. What one thread does is told in its processor time, what two do together by the clock. */
#include <mpi.h>
#include <omp.h>

#include "bench.h"

#define MEASURE(NAME, CLOCK, BODY)                                \
    do {                                                          \
        for (int batch = -1; batch < k; batch++) {                \
            double begin = now(CLOCK);                            \
            for (int i = 0; i < n; i++) { BODY; }                 \
            double end = now(CLOCK);                              \
            if (batch >= 0) batches[batch] = (end - begin) / n;   \
        }                                                         \
        tell(NAME, batches, k);                                   \
        MPI_Barrier(MPI_COMM_SELF);                               \
    } while (0)

static volatile int sink;

static void region(int threads)
{
#pragma omp parallel num_threads(threads)
    if (omp_get_thread_num() == 0) sink = threads;
}

/* Inside a region, as in a program. */
static void measure_critical(double *batches, int k, int n)
{
    for (int batch = -1; batch < k; batch++) {
#pragma omp parallel num_threads(1)
        {
            double begin = now(CLOCK_THREAD_CPUTIME_ID);
            for (int i = 0; i < n; i++) {
#pragma omp critical
                sink = i;
            }
            double end = now(CLOCK_THREAD_CPUTIME_ID);
            if (batch >= 0) batches[batch] = (end - begin) / n;
        }
    }
    tell("critical", batches, k);
    MPI_Barrier(MPI_COMM_SELF);
}

static void measure_barrier(double *batches, int k, int n)
{
    for (int batch = -1; batch < k; batch++) {
        double begin = 0, end = 0;
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
            if (omp_get_thread_num() == 0) begin = now(CLOCK_MONOTONIC);
            for (int i = 0; i < n; i++) {
#pragma omp barrier
            }
            if (omp_get_thread_num() == 0) end = now(CLOCK_MONOTONIC);
        }
        if (batch >= 0) batches[batch] = (end - begin) / n;
    }
    tell("barrier", batches, k);
    MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    int k = argument(argc, argv, 1, 20), n = argument(argc, argv, 2, 2000);
    double *batches = malloc(k * sizeof *batches);
    MPI_Init(&argc, &argv);
    tell_library();

    MEASURE("region_1", CLOCK_THREAD_CPUTIME_ID, region(1));
    MEASURE("region_2", CLOCK_MONOTONIC, region(2));
    measure_barrier(batches, k, n);
    measure_critical(batches, k, n);

    printf("bench: calls 4\n");
    fflush(stdout);
    MPI_Finalize();
    free(batches);
    return 0;
}
