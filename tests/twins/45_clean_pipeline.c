/* Clean: a pipeline of 3 stages (the ranks) with the same work per item and 40 items, so that filling and draining are
 * short; items are passed on with nonblocking sends. No problem worth naming. */
#include "twin.h"
#define ITEMS 40
#define N 100
static double items[ITEMS][N];

static void stage(double *item) {
    work(40);
    for (int i = 0; i < N; i++) item[i] = item[i] * 2 + rank;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Request receives[ITEMS], sends[ITEMS];
    double mine = 0, sum;
    for (int i = 0; i < ITEMS; i++) {
        receives[i] = sends[i] = MPI_REQUEST_NULL;
        if (rank > 0) MPI_Irecv(items[i], N, MPI_DOUBLE, rank - 1, i, MPI_COMM_WORLD, receives + i);
        else items[i][0] = i;
    }
    for (int i = 0; i < ITEMS; i++) {
        MPI_Wait(receives + i, MPI_STATUS_IGNORE);
        stage(items[i]);
        if (rank < size - 1) MPI_Isend(items[i], N, MPI_DOUBLE, rank + 1, i, MPI_COMM_WORLD, sends + i);
        else mine += items[i][0];
    }
    MPI_Waitall(ITEMS, sends, MPI_STATUSES_IGNORE);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("clean_pipeline %.0f", sum);
    return 0;
}
