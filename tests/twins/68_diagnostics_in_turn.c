/* A time loop on 4 ranks with a reduction and a broadcast in each step; every third step has diagnostics.
 * Problem: diagnostics() runs on one rank alone for the data of all, 180 ms, on another rank each time (in_charge); the others
 * wait in the MPI_Reduce and MPI_Bcast of that step.
 * fixed: each rank computes the diagnostics of its own data. */
#include "twin.h"

static int in_charge(int step) { return step / 3 % size; }

static double diagnostics(int parts) {
    work(45 * parts);
    return parts;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0, sum = 0;
    for (int step = 0; step < 12; step++) {
        work(70);
        double mine = 1;
        if (step % 3 == 2) {
            if (fixed) mine += diagnostics(1);
            else if (rank == in_charge(step)) mine += diagnostics(size); // PROBLEM
        }
        MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        total += sum;
    }
    finish("diagnostics_in_turn %.0f", total);
    return 0;
}
