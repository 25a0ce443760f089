/* Sweeps over a plane on a grid of 3 x 2 ranks: each needs the edges of its northern and its western neighbour.
 * Problem: a rank passes its edges on only when it has swept all of its part (blocks), so the sweep goes along the diagonals
 * of the grid and most ranks wait in MPI_Recv.
 * fixed: the part is swept in 8 blocks, and each block's edges are passed on at once. */
#include "twin.h"
#define N 800

static double sweep(double north, double west, int n) {
    work(0.2 * n);
    return north + west + n;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int columns = 3, x = rank % columns, y = rank / columns, blocks = fixed ? 8 : 1; // PROBLEM
    double sum = 0, all = 0;
    for (int iteration = 0; iteration < 4; iteration++) {
        for (int b = 0; b < blocks; b++) {
            double north[N] = {0}, west[N] = {0}, edge[N] = {0};
            int n = N / blocks;
            if (y > 0) MPI_Recv(north, n, MPI_DOUBLE, rank - columns, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (x > 0) MPI_Recv(west, n, MPI_DOUBLE, rank - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += sweep(0, 0, n);
            if (rank + columns < size) MPI_Send(edge, n, MPI_DOUBLE, rank + columns, 1, MPI_COMM_WORLD);
            if (x + 1 < columns) MPI_Send(edge, n, MPI_DOUBLE, rank + 1, 2, MPI_COMM_WORLD);
        }
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    finish("wavefront_plane %.0f", all);
    return 0;
}
