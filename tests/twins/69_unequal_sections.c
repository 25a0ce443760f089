/* Hybrid, 2 ranks with 3 threads each: three physics packages in parallel sections, then a sum over the ranks.
 * Problem: in physics() the section of the radiation takes 120 ms, the other two 30 ms each, so two threads of each rank wait
 * at the end of the sections.
 * fixed: the radiation is computed in six parts, which are tasks. */
#include "twin.h"

static void radiation(int parts) { work(20 * parts); }
static void convection(void) { work(30); }
static void turbulence(void) { work(30); }

static void physics(void) {
    if (fixed) {
#pragma omp parallel
#pragma omp single
        {
            for (int part = 0; part < 6; part++)
#pragma omp task
                radiation(1);
#pragma omp task
            convection();
#pragma omp task
            turbulence();
        }
        return;
    }
#pragma omp parallel sections // PROBLEM
    {
#pragma omp section
        radiation(6);
#pragma omp section
        convection();
#pragma omp section
        turbulence();
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine = 1, sum = 0, total = 0;
    for (int step = 0; step < 10; step++) {
        work(20);
        physics();
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    finish("unequal_sections %.0f", total);
    return 0;
}
