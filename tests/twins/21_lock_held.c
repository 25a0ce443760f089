/* Rank 0 holds a table in a window; 4 other ranks add 5 contributions each to it, under an exclusive lock.
 * Problem: update() computes the contribution (60 ms) while it holds the lock, so the ranks compute one after another and
 * wait for the lock (MPI_Win_lock or the calls of the epoch).
 * fixed: the contribution is computed before the lock is taken. */
#include "twin.h"
#define N 64

static void contribution(double *values) {
    work(60);
    for (int i = 0; i < N; i++) values[i] = rank;
}

static void update(MPI_Win window) {
    double values[N];
    if (fixed) contribution(values);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (!fixed) {
        double first;
        MPI_Get(&first, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_flush(0, window); /* the lock is held from here on */
        contribution(values);     // PROBLEM
    }
    MPI_Accumulate(values, N, MPI_DOUBLE, 0, 0, N, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_unlock(0, window);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double *table, sum = 0;
    MPI_Win window;
    MPI_Win_allocate(rank == 0 ? N * sizeof(double) : 0, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
    if (rank == 0) memset(table, 0, N * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        for (int i = 0; i < 5; i++) update(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        for (int i = 0; i < N; i++) sum += table[i];
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    finish("lock_held %.0f", sum);
    return 0;
}
