/* A ring of 7 ranks, each of which needs the borders (8 MB) of its two neighbours in each step. (In a grid of 6 ranks all would be neighbours.)
 * Problem: exchange() sends the border to all ranks and receives from all of them with point-to-point messages,
 * although only the two neighbours' borders are used.
 * fixed: only the two neighbours exchange. */
#include "twin.h"
#define N (1 << 20)
static double border[N], halo[7][N];

static int is_neighbour(int other) { return other == (rank + 1) % size || other == (rank + size - 1) % size; }

static void exchange(void) {
    MPI_Request requests[16];
    int n = 0;
    for (int other = 0; other < size; other++) {
        if (other == rank || (fixed && !is_neighbour(other))) continue;
        MPI_Irecv(halo[other], N, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, requests + n++);
        MPI_Isend(border, N, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, requests + n++); // PROBLEM
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static void relax(void) {
    work(20);
    for (int i = 0; i < N; i += 64) border[i] = (halo[(rank + 1) % size][i] + halo[(rank + size - 1) % size][i]) / 2 + rank;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int step = 0; step < 24; step++) {
        exchange();
        relax();
    }
    double sum;
    MPI_Reduce(border, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("send_to_all %.3f", sum);
    return 0;
}
