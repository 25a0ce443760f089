/* Each of 4 ranks evaluates 12 samples of its own; a sample now and then takes long. The sum is needed only at the end.
 * Problem: an MPI_Barrier after each sample, which nobody needs: in each step all wait for the rank whose sample is long
 * (a different one each time), although over the whole run all ranks have the same work.
 * fixed: no barrier. */
#include "twin.h"
#define SAMPLES 12

static double evaluate(int sample) {
    int is_long = (sample + rank) % 4 == 0;
    work(is_long ? 150 : 50);
    return sample + rank;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine = 0, sum;
    for (int sample = 0; sample < SAMPLES; sample++) {
        mine += evaluate(sample);
        if (!fixed) MPI_Barrier(MPI_COMM_WORLD); // PROBLEM
    }
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("needless_barrier %.0f", sum);
    return 0;
}
