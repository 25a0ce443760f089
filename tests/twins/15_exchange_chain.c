/* A chain of 5 ranks shifts its borders to the right in each iteration; a residual ends the iteration.
 * Problem: shift() receives from the left, applies what it received (40 ms) and only then sends its own border, which
 * does not depend on it: the ranks go one after another, rank 0 first, and all wait for the end of the chain.
 * fixed: the border is sent before the receive, so all ranks apply at the same time. */
#include "twin.h"
#define N 20

static void apply(const double *halo, double *inner) {
    work(40);
    inner[0] += halo[0];
}

static void shift(const double *border, double *halo, double *inner, int left, int right) {
    if (fixed) MPI_Send(border, N, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    MPI_Recv(halo, N, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // PROBLEM
    apply(halo, inner);
    if (!fixed) MPI_Send(border, N, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double border[N] = {0}, halo[N] = {0}, inner[1] = {0}, residual = 0;
    for (int i = 0; i < 8; i++) {
        border[0] = rank + i;
        work(50);
        shift(border, halo, inner, left, right);
        MPI_Allreduce(inner, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    finish("exchange_chain %.0f", residual);
    return 0;
}
