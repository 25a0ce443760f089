/* What MPI calls cost that send nothing anywhere: one rank, so that all of it is the library's and the tool's own time. The calls are made
 * ten functions deep, as in a program: tools that record call paths unwind that many.
 * calls [BATCHES [REPETITIONS]]; thread CPU time, so that other processes on the machine count as little as possible. */
#include <mpi.h>

#include "bench.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static long calls;
static volatile unsigned long long sink;

/* Runs BODY k times n, CALLS calls each, and tells what one call cost. The first batch only warms up. */
#define MEASURE(NAME, CALLS, BODY)                                         \
    do {                                                                   \
        for (int batch = -1; batch < k; batch++) {                         \
            double begin = now(CLOCK_THREAD_CPUTIME_ID);                   \
            for (int i = 0; i < n; i++) { BODY; }                          \
            double end = now(CLOCK_THREAD_CPUTIME_ID);                     \
            if (batch >= 0) batches[batch] = (end - begin) / n / (CALLS); \
        }                                                                  \
        tell(NAME, batches, k);                                            \
    } while (0)

#define MEASURE_MPI(NAME, CALLS, BODY) (calls += (k + 1L) * n * (CALLS)); MEASURE(NAME, CALLS, BODY)

/* Functions between main and the one that calls MPI. */
enum { DEPTH = 8 };

static void measure(int k, int n)
{
    double *batches = malloc(k * sizeof *batches);
    double in = 1, out = 0;
    int flag;
    MPI_Request requests[2];
    struct timespec t;

#if defined(__x86_64__)
    MEASURE("rdtsc", 1, sink = __rdtsc());
#endif
    MEASURE("clock_gettime", 1, clock_gettime(CLOCK_MONOTONIC, &t));

    MEASURE_MPI("send_recv", 2, {
        MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
        MPI_Recv(&out, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    MEASURE_MPI("nonblocking", 3, {
        MPI_Irecv(&out, 1, MPI_DOUBLE, 0, 2, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&in, 1, MPI_DOUBLE, 0, 2, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    });
    MEASURE_MPI("allreduce", 1, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    MEASURE_MPI("barrier", 1, MPI_Barrier(MPI_COMM_SELF));
    MEASURE_MPI("iprobe", 1, MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));

    free(batches);
}

int main(int argc, char **argv)
{
    int k = argument(argc, argv, 1, 10), n = argument(argc, argv, 2, 5000);
    MPI_Init(&argc, &argv);
    tell_library();
    call_at_depth(DEPTH - 1, measure, k, n);
    printf("bench: calls %ld\n", calls);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
