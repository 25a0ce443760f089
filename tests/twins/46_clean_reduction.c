/* Clean: a loop of equal computations on 4 ranks, each followed by one MPI_Allreduce whose result the next one needs.
 * No problem worth naming. */
#include "twin.h"
#define N 64

static void compute(double *mine, const double *all) {
    work(150);
    for (int i = 0; i < N; i++) mine[i] = all[i] / size + rank;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine[N], all[N] = {0};
    for (int i = 0; i < 10; i++) {
        compute(mine, all);
        MPI_Allreduce(mine, all, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    finish("clean_reduction %.3f", all[0]);
    return 0;
}
