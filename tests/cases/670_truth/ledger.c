/* Iterations whose time depends on `knob`, by a law that the first argument names. Keeps a ledger of the knob and the time of every iteration,
   and prints it at the end: what a tool claims can be compared with it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int knob = 4;
static int first; /* the value at the beginning */

static void wait_ms(double ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left)) {
    }
}

/* Milliseconds of an iteration. */
static double duration(const char *law, int value, int index, int count)
{
    if (!strcmp(law, "gain"))
        return value > 8 ? 8 : 24 - 4 * (value - 4); /* 24 at 4, 8 at 8 */
    if (!strcmp(law, "once"))
        return first == 8 ? 3 : 9;
    if (!strcmp(law, "harm"))
        return value == 8 ? 24 : 8;
    if (!strcmp(law, "slower"))
        return 4 + 4.0 * index / count;
    if (!strcmp(law, "faster"))
        return 8 - 4.0 * index / count;
    return 5;
}

__attribute__((noinline)) int iterate(const char *law, int index, int count)
{
    int value = knob;
    wait_ms(duration(law, value, index, count));
    return value;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *law = argv[1];
    int count = atoi(argv[2]);
    int *values = malloc(count * sizeof *values);
    double *times = malloc(count * sizeof *times);
    first = knob;
    for (int i = 0; i < count; i++) {
        double begin = MPI_Wtime();
        values[i] = iterate(law, i, count);
        MPI_Barrier(MPI_COMM_WORLD);
        times[i] = MPI_Wtime() - begin;
    }
    for (int i = 0; i < count && !rank; i++)
        printf("%d %.9f\n", values[i], times[i]);
    MPI_Finalize();
}
