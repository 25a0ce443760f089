/* Two ranks read the table of the other one in each iteration, 6000 entries.
 * Problem: fetch() gets each entry with an MPI_Rget of its own and waits for it.
 * fixed: one MPI_Rget for all entries. */
#include "twin.h"
#define N 6000
static double entries[N];

static void fetch(MPI_Win window) {
    int n = fixed ? N : 1; /* entries per access */
    for (int i = 0; i < N; i += n) {
        MPI_Request request;
        MPI_Rget(entries + i, n, MPI_DOUBLE, 1 - rank, i, n, MPI_DOUBLE, window, &request); // PROBLEM
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double *table, sum = 0, all;
    MPI_Win window;
    MPI_Win_allocate(N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
    for (int i = 0; i < N; i++) table[i] = i + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int step = 0; step < 20; step++) {
        fetch(window);
        work(8);
        for (int i = 0; i < N; i++) sum += entries[i];
    }
    MPI_Win_unlock_all(window);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&window);
    finish("element_gets %.0f", all);
    return 0;
}
