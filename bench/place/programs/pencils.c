/* The exchanges of a three-dimensional Fourier transform on pencils: the processes are a grid, and each step everyone exchanges with everyone in its row, then in its
 * column.
 *
 *     mpirun -n 16 ./pencils DOUBLES [STEPS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int doubles = argc > 1 ? atoi(argv[1]) : 4096, steps = argc > 2 ? atoi(argv[2]) : 10;
    int processes, shape[2] = {0, 0}, periods[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Dims_create(processes, 2, shape);
    MPI_Comm grid, lines[2];
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 0, &grid);
    for (int along = 0; along < 2; along++) MPI_Cart_sub(grid, (int[2]){along == 0, along == 1}, &lines[along]);
    double *now = calloc(doubles, sizeof(double)), *next = calloc(doubles, sizeof(double));
    if (!now || !next) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 0; step < steps; step++) {
        for (int along = 0; along < 2; along++) {
            int each = doubles / shape[along];
            MPI_Alltoall(now, each, MPI_DOUBLE, next, each, MPI_DOUBLE, lines[along]);
            for (int i = 0; i < doubles; i++) now[i] = 0.5 * next[i] + i;
        }
    }
    if (now[0] < 0) printf("%g\n", now[0]);
    free(now), free(next);
    MPI_Finalize();
    return 0;
}
