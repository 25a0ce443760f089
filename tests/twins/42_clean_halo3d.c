/* Clean: a three-dimensional halo exchange on a periodic grid of 2x2x2 ranks with the same work on each of them.
 * No problem worth naming. */
#include "twin.h"
#define FACE 256
static double out[6][FACE], in[6][FACE];

static void compute(int step) {
    work(150);
    for (int f = 0; f < 6; f++)
        for (int i = 0; i < FACE; i++) out[f][i] = in[f][i] / 2 + rank + step;
}

static void exchange(MPI_Comm grid) {
    MPI_Request requests[12];
    int n = 0;
    for (int d = 0; d < 3; d++) {
        int low, high;
        MPI_Cart_shift(grid, d, 1, &low, &high);
        MPI_Irecv(in[2 * d], FACE, MPI_DOUBLE, low, 2 * d, grid, requests + n++);
        MPI_Irecv(in[2 * d + 1], FACE, MPI_DOUBLE, high, 2 * d + 1, grid, requests + n++);
        MPI_Isend(out[2 * d], FACE, MPI_DOUBLE, high, 2 * d, grid, requests + n++);
        MPI_Isend(out[2 * d + 1], FACE, MPI_DOUBLE, low, 2 * d + 1, grid, requests + n++);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int sides[3] = {2, 2, 2}, periods[3] = {1, 1, 1};
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 3, sides, periods, 0, &grid);
    for (int step = 0; step < 9; step++) {
        compute(step);
        exchange(grid);
    }
    double sum;
    MPI_Reduce(in[5], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
    MPI_Comm_free(&grid);
    finish("clean_halo3d %.6f", sum);
    return 0;
}
