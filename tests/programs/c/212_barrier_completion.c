/* Both ranks come to the Barrier together, rank 0 leaves it at once and rank 1 80 ms later, eight times.
 * The report: barrier_completion on rank 1, at the Barrier (site:barrier).
 * ranks: 2
 * library: 212_barrier_completion.lib.c
 */
#include "waits.h"

void after_barrier(void) {
    if (rank == 1) nap(0.08);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        entering(0);
        MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
        left(0);
    }
    meet();
    if (rank == 0) injected("barrier_completion", "barrier", stayed(0, 1));
    finish();
    return 0;
}
