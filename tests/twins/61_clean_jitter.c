/* Clean: equal work on 4 ranks that varies by up to 3 % from step to step, as caches and memory make it; a reduction in each
 * step, whose result decides whether to go on. No problem worth naming. */
#include "twin.h"

static double compute(int step) {
    int jitter = (step * 7 + rank * 5) % 7 - 3;
    work(120 * (1 + jitter / 100.0));
    return 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0, sum = 0;
    for (int step = 0; step < 12; step++) {
        double mine = compute(step);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    finish("clean_jitter %.0f", total);
    return 0;
}
