/* Two ranks put 6000 entries into the table of the other one in each iteration.
 * Problem: store() completes each MPI_Put with an MPI_Win_flush.
 * fixed: one MPI_Put for all entries, and one MPI_Win_flush. */
#include "twin.h"
#define N 6000
static double entries[N];

static void store(MPI_Win window) {
    int n = fixed ? N : 1; /* entries per access */
    for (int i = 0; i < N; i += n) {
        MPI_Put(entries + i, n, MPI_DOUBLE, 1 - rank, i, n, MPI_DOUBLE, window);
        MPI_Win_flush(1 - rank, window); // PROBLEM
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double *table, sum = 0, all;
    MPI_Win window;
    MPI_Win_allocate(N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
    MPI_Win_lock_all(0, window);
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < N; i++) entries[i] = i + step;
        store(window);
        work(8);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) sum += table[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&window);
    finish("flush_per_put %.0f", all);
    return 0;
}
