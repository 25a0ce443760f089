/* Two ranks put 2500 columns into each other's window in each iteration.
 * Problem: transfer() puts each column on its own and closes each MPI_Put with an MPI_Win_fence, 2500 synchronisations per
 * iteration instead of one.
 * fixed: one MPI_Put of all columns and one fence. */
#include "twin.h"
#define COLUMNS 2500
#define ROWS 8
static double columns[COLUMNS][ROWS];

static void transfer(MPI_Win window) {
    int n = fixed ? COLUMNS : 1; /* columns per put */
    for (int c = 0; c < COLUMNS; c += n) {
        MPI_Put(columns[c], n * ROWS, MPI_DOUBLE, 1 - rank, c * ROWS, n * ROWS, MPI_DOUBLE, window);
        MPI_Win_fence(0, window); // PROBLEM
    }
}

static void relax(int step) {
    work(15);
    for (int c = 0; c < COLUMNS; c++) columns[c][0] = step + c;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double *memory, sum = 0, all;
    MPI_Win window;
    MPI_Win_allocate(sizeof columns, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (int step = 0; step < 20; step++) {
        relax(step);
        transfer(window);
        for (int c = 0; c < COLUMNS; c++) sum += memory[c * ROWS];
        MPI_Win_fence(0, window);
    }
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&window);
    finish("fence_per_put %.0f", all);
    return 0;
}
