/* 4 ranks advance and sum a norm in each step; one of them, another one each time, needs longer.
 * Problem: the norm is summed with MPI_Iallreduce, but completed with MPI_Wait at once, before the other computation of the
 * step (output), which does not need it: in each step all wait for the slowest.
 * fixed: MPI_Wait comes after that computation, just before the next step. */
#include "twin.h"

static double advance(int step) {
    work(step % size == rank ? 100 : 20);
    return step + rank;
}
static void output(int step) { work(step % size == rank ? 20 : 100); }

int main(int argc, char **argv) {
    start(&argc, &argv);
    double norm = 0, sum = 0;
    for (int step = 0; step < 12; step++) {
        double mine = advance(step);
        MPI_Request request;
        MPI_Iallreduce(&mine, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        if (!fixed) MPI_Wait(&request, MPI_STATUS_IGNORE); // PROBLEM
        output(step);
        if (fixed) MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += norm;
    }
    finish("early_completion %.0f", sum);
    return 0;
}
