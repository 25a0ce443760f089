/* Two ranks exchange a boundary of 15000 values in each iteration and relax the inside.
 * Problem: exchange() sends each value in a message of its own, 15000 messages of 8 bytes instead of one.
 * fixed: one message of 15000 values in each direction. */
#include "twin.h"
#define N 15000
static double border[N], halo[N];

static void exchange(int partner) {
    if (fixed) {
        MPI_Sendrecv(border, N, MPI_DOUBLE, partner, 0, halo, N, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < N; i++)
        MPI_Sendrecv(border + i, 1, MPI_DOUBLE, partner, 0, halo + i, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, // PROBLEM
                     MPI_STATUS_IGNORE);
}

static void relax(int step) {
    work(15);
    for (int i = 0; i < N; i++) border[i] = halo[i] + step + rank;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        exchange(1 - rank);
        relax(step);
    }
    double mine = 0, sum;
    for (int i = 0; i < N; i++) mine += border[i];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("element_messages %.0f", sum);
    return 0;
}
