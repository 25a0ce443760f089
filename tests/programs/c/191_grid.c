/* A grid of 3 x 3 ranks without wrapping around: those at its border have MPI_PROC_NULL for a neighbour.
 * The record: two roles, the rank in the middle and the eight around it, which do the same.
 * ranks: 9
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    CHECK(size == 9);
    int dims[2] = {3, 3}, wraps[2] = {0, 0}, here = rank, there = -1;
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 0, &grid);
    for (int step = 0; step < 5; step++)
        for (int dimension = 0; dimension < 2; dimension++) {
            int low, high;
            MPI_Cart_shift(grid, dimension, 1, &low, &high);
            MPI_Sendrecv(&here, 1, MPI_INT, high, 0, &there, 1, MPI_INT, low, 0, grid, MPI_STATUS_IGNORE); /*site:up*/
            CHECK(low == MPI_PROC_NULL || there == low);
            MPI_Sendrecv(&here, 1, MPI_INT, low, 1, &there, 1, MPI_INT, high, 1, grid, MPI_STATUS_IGNORE); /*site:down*/
        }
    MPI_Comm_free(&grid);
    if (rank == 0) printf("grid: ok\n");
    MPI_Finalize();
    return 0;
}
