/* Rank 1 comes to the Barrier 40 ms and rank 2 80 ms after rank 0, eight times.
 * The report: wait_at_barrier on ranks 0 (80 ms each time) and 1 (40 ms), at the Barrier (site:barrier).
 * ranks: 3
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        nap(0.04 * rank);
        entering(0);
        MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
        left(0);
    }
    meet();
    if (rank == 0) injected("wait_at_barrier", "barrier", waited(0, 0, 2) + waited(0, 1, 2));
    finish();
    return 0;
}
