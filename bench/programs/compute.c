/* A program that only computes: what do samples of it cost? compute [BATCHES [REPETITIONS]]. Every batch is the same known work, in a function that is ten
 * functions deep: a recurrence, of which each step needs the result of the one before. So its time depends on the latency of the processor, and little on
 * what runs beside it on a machine that is shared. Processor time of the thread, and the share of threads that a tool has started in the process. */
#include <mpi.h>

#include "bench.h"

/* Functions between main and the one that computes. */
enum { DEPTH = 8 };

static volatile double sink;

__attribute__((noinline)) static double iterate(double x, int steps)
{
    for (int i = 0; i < steps; i++) x = 3.7 * x * (1 - x);
    return x;
}

__attribute__((noinline)) static void work(int n)
{
    double x = 0.4;
    for (int i = 0; i < n; i++) x = iterate(x, 100);
    sink = x;
}

static void measure(int k, int n)
{
    double *batches = malloc(k * sizeof *batches);
    double process = now(CLOCK_PROCESS_CPUTIME_ID), thread = now(CLOCK_THREAD_CPUTIME_ID);
    for (int batch = -1; batch < k; batch++) {
        double begin = now(CLOCK_THREAD_CPUTIME_ID);
        work(n);
        double end = now(CLOCK_THREAD_CPUTIME_ID);
        if (batch >= 0) batches[batch] = (end - begin) / n;
    }
    double in_thread = now(CLOCK_THREAD_CPUTIME_ID) - thread;
    double share = (now(CLOCK_PROCESS_CPUTIME_ID) - process) / in_thread;
    for (int batch = 0; batch < k; batch++) batches[batch] *= share;
    tell("compute", batches, k);
    MPI_Barrier(MPI_COMM_SELF);
    free(batches);
}

int main(int argc, char **argv)
{
    int k = argument(argc, argv, 1, 50), n = argument(argc, argv, 2, 200000);
    MPI_Init(&argc, &argv);
    tell_library();
    call_at_depth(DEPTH - 1, measure, k, n);
    printf("bench: calls 1\n");
    printf("bench: processor %.0f\n", now(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
