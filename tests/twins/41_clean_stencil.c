/* Clean: a one-dimensional stencil on 4 ranks; the halo is exchanged while the inside is computed, all ranks have the same
 * work, a residual is computed every fourth iteration. No problem worth naming. */
#include "twin.h"
#define N 1000
static double cells[N + 2];

static void inside(void) { work(80); }
static void edges(void) {
    work(5);
    cells[1] = cells[1] / 2 + cells[0] / 2 + 1;
    cells[N] = cells[N] / 2 + cells[N + 1] / 2 + 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double residual = 0, sum = 0;
    for (int i = 0; i < 16; i++) {
        MPI_Request requests[4];
        MPI_Irecv(cells, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, requests);
        MPI_Irecv(cells + N + 1, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, requests + 1);
        MPI_Isend(cells + N, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, requests + 2);
        MPI_Isend(cells + 1, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, requests + 3);
        inside();
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        edges();
        if (i % 4 == 3) {
            MPI_Allreduce(cells + 1, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            sum += residual;
        }
    }
    finish("clean_stencil %.6f", sum);
    return 0;
}
