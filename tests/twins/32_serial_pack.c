/* Hybrid, 2 ranks with 4 threads each: a parallel computation, then the boundary is packed and exchanged.
 * Problem: pack() is not parallel: the main thread packs all 8 fields (20 ms each) while the other three threads are idle.
 * fixed: the fields are packed in a parallel loop. */
#include "twin.h"
#define FIELDS 8
#define N 1000
static double fields[FIELDS][N], packed[FIELDS][N], received[FIELDS][N];

static void pack_field(int f) {
    work(20);
    memcpy(packed[f], fields[f], sizeof packed[f]);
}

static void pack(void) {
    if (fixed) {
#pragma omp parallel for
        for (int f = 0; f < FIELDS; f++) pack_field(f);
    } else
        for (int f = 0; f < FIELDS; f++) pack_field(f); // PROBLEM
}

static void compute(int step) {
#pragma omp parallel for
    for (int f = 0; f < FIELDS; f++) {
        work(50);
        fields[f][0] = received[f][0] + step + rank;
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int step = 0; step < 8; step++) {
        compute(step);
        pack();
        MPI_Sendrecv(packed, FIELDS * N, MPI_DOUBLE, 1 - rank, 0, received, FIELDS * N, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    finish("serial_pack %.0f", received[0][0]);
    return 0;
}
