/* Hybrid, 2 ranks with 4 threads each: contributions of 16 elements are added to a global vector, then summed over ranks.
 * Problem: assemble() computes the contribution inside the critical section, so the threads of a rank compute one after
 * another.
 * fixed: the contribution is computed before the critical section, which contains only the addition. */
#include "twin.h"
#define ELEMENTS 16
static double vector[4];

static double contribution(int element) {
    work(15);
    return element;
}

static void assemble(void) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int e = 0; e < ELEMENTS; e++) {
        double value = 0;
        if (fixed) value = contribution(e);
#pragma omp critical
        {
            if (!fixed) value = contribution(e); // PROBLEM
            vector[e % 4] += value;
        }
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0, all[4];
    for (int step = 0; step < 8; step++) {
        assemble();
        MPI_Allreduce(vector, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += all[0] + all[3];
    }
    finish("critical_section %.0f", total);
    return 0;
}
