/* Particles on 4 ranks; a dense cloud moves through the domain. Time step: move particles, sum the energy.
 * Problem: the domain is cut into one contiguous part per rank (owner()), so the rank in whose part the
 * cloud is computes more in push(), a different rank every 3 steps; the others wait in MPI_Allreduce.
 * fixed: the columns are dealt out in turn, so that each rank always has its share of the cloud. */
#include "twin.h"
#define COLUMNS 48
#define STEPS 12

static int owner(int column) {
    return fixed ? column % size : column * size / COLUMNS; // PROBLEM
}

static int particles(int column, int step) { /* the cloud covers 8 columns and moves four columns per step */
    int distance = (column - 4 * step + COLUMNS) % COLUMNS;
    return distance < 8 ? 40 : 4;
}

static double push(int step) {
    int n = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (owner(c) == rank) n += particles(c, step);
    work(n * 0.5);
    return n;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0;
    for (int step = 0; step < STEPS; step++) {
        double mine = push(step), energy;
        MPI_Allreduce(&mine, &energy, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += energy;
    }
    finish("moving_cloud %.0f", total);
    return 0;
}
