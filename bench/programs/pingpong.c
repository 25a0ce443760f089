/* Eight bytes back and forth between two ranks: pingpong [BATCHES [ROUND-TRIPS]]. Nanoseconds one way, in which each rank makes one
 * call that the other waits for: a Send here, a Recv there. */
#include <mpi.h>

#include "bench.h"

int main(int argc, char **argv)
{
    int k = argument(argc, argv, 1, 75), n = argument(argc, argv, 2, 400), rank;
    double *batches = malloc(k * sizeof *batches);
    double value = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int first = rank == 0, other = 1 - rank;

    for (int batch = -1; batch < k; batch++) {
        double begin = now(CLOCK_MONOTONIC);
        for (int i = 0; i < n; i++) {
            if (first) MPI_Send(&value, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!first) MPI_Send(&value, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        }
        if (batch >= 0) batches[batch] = (now(CLOCK_MONOTONIC) - begin) / n / 2;
    }

    if (first) {
        tell("pingpong", batches, k);
        printf("bench: calls %ld\n", 4L * (k + 1) * n);
        fflush(stdout);
    }
    MPI_Finalize();
    free(batches);
    return 0;
}
