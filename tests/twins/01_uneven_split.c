/* A one-dimensional stencil on 4 ranks with a halo exchange and a residual in each iteration.
 * Problem: split() gives every rank blocks / size blocks and all the remaining ones to the last rank,
 * so rank 3 computes more than the others in relax(), and they wait for it in each iteration.
 * fixed: the remaining blocks are given one each to the first ranks. */
#include "twin.h"
#define BLOCKS 15
#define CELLS 1000
static double cells[BLOCKS * CELLS + 2];

static int split(void) {
    if (fixed) return BLOCKS / size + (rank < BLOCKS % size);
    return rank == size - 1 ? BLOCKS - BLOCKS / size * (size - 1) : BLOCKS / size; // PROBLEM
}

static double relax(int blocks) {
    work(36 * blocks);
    return blocks;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int blocks = split(), n = blocks * CELLS;
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double sum = 0, residual;
    for (int i = 0; i < 8; i++) {
        MPI_Request requests[4];
        MPI_Irecv(cells, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, requests);
        MPI_Irecv(cells + n + 1, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, requests + 1);
        MPI_Isend(cells + n, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, requests + 2);
        MPI_Isend(cells + 1, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, requests + 3);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        double part = relax(blocks);
        MPI_Allreduce(&part, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += residual;
    }
    finish("uneven_split %.0f", sum);
    return 0;
}
