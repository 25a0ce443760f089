/* Half of a round trip of one byte, by what MPI is told about threads.
 *
 *     mpicc -O2 threads.c -o threads && mpirun -n 2 ./threads single && mpirun -n 2 ./threads funneled */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 200, TRAIN = 20 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, provided, funneled = argc > 1 && !strcmp(argv[1], "funneled");
    static double seconds[TIMES];
    char byte = 1;
    MPI_Init_thread(&argc, &argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < TIMES; i++) {
        double began = MPI_Wtime();
        for (int k = 0; k < TRAIN; k++) {
            if (rank == 0)
                MPI_Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&byte, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        seconds[i] = (MPI_Wtime() - began) / (2 * TRAIN);
    }
    qsort(seconds, TIMES, sizeof *seconds, by_size);
    if (rank == 0)
        printf("%s: %.3f us\n", funneled ? "funneled" : "single", seconds[TIMES / 2] * 1e6);
    MPI_Finalize();
}
