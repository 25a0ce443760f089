/* Hybrid, 2 ranks with 4 threads each: a loop over rows of different length (a triangle), then a sum over the ranks.
 * Problem: the loop in triangle() is scheduled statically in blocks, so the last thread of each rank has the longest rows
 * and the other three wait for it at the end of the parallel loop.
 * fixed: schedule(dynamic, 1). */
#include "twin.h"
#define ROWS 16

static double triangle(void) {
    double sum = 0;
    if (fixed) {
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
        for (int row = ROWS - 1; row >= 0; row--) {
            work(4.0 * row);
            sum += row;
        }
    } else {
#pragma omp parallel for schedule(static) reduction(+ : sum) // PROBLEM
        for (int row = 0; row < ROWS; row++) {
            work(4.0 * row);
            sum += row;
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0;
    for (int step = 0; step < 8; step++) {
        double mine = triangle(), sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    finish("thread_imbalance %.0f", total);
    return 0;
}
