/* A grid of 4 x 4 ranks without wrapping around; neighbours exchange 4 kB in every step, in all directions at once.
 * The record: hosts of four slots, filled row by row, exchange twice as much as hosts that have a square of 2 x 2 ranks each.
 * ranks: 16
 */
#include "check.h"

enum { SIDE = 4, NUMBERS = 1024, STEPS = 20 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    CHECK(size == SIDE * SIDE);
    int dims[2] = {SIDE, SIDE}, wraps[2] = {0, 0}, neighbours[4], sent[NUMBERS], got[4][NUMBERS];
    for (int i = 0; i < NUMBERS; i++) sent[i] = rank;
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 0, &grid);
    for (int dimension = 0; dimension < 2; dimension++)
        MPI_Cart_shift(grid, dimension, 1, &neighbours[2 * dimension], &neighbours[2 * dimension + 1]);
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[8];
        for (int way = 0; way < 4; way++) MPI_Irecv(got[way], NUMBERS, MPI_INT, neighbours[way], 0, grid, &requests[way]);
        for (int way = 0; way < 4; way++) MPI_Isend(sent, NUMBERS, MPI_INT, neighbours[way], 0, grid, &requests[4 + way]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        for (int way = 0; way < 4; way++) CHECK(neighbours[way] == MPI_PROC_NULL || got[way][NUMBERS - 1] == neighbours[way]);
    }
    MPI_Comm_free(&grid);
    if (rank == 0) printf("halo: ok\n");
    MPI_Finalize();
    return 0;
}
