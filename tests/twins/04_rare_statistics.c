/* A time loop on 4 ranks with a neighbour exchange and a sum in each step; every 5th step statistics are computed.
 * Problem: statistics() runs on rank 1 alone, for the data of all ranks, 400 ms in steps 4 and 9;
 * the other ranks wait in the MPI_Allreduce of that step.
 * fixed: each rank computes the statistics of its own data (a quarter of the work each). */
#include "twin.h"

static double statistics(int parts) {
    double value = 0;
    work(100 * parts);
    for (int p = 0; p < parts; p++) value += 1;
    return value;
}

static void step_forward(void) { work(80); }

int main(int argc, char **argv) {
    start(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double halo[100] = {0}, border[100] = {0}, total = 0;
    for (int step = 0; step < 10; step++) {
        MPI_Sendrecv(border, 100, MPI_DOUBLE, right, 0, halo, 100, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        step_forward();
        double mine = 1, sum;
        if (step % 5 == 4) {
            if (fixed) mine += statistics(1);
            else if (rank == 1) mine += statistics(size); // PROBLEM
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    finish("rare_statistics %.0f", total);
    return 0;
}
