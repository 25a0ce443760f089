/* The ranks work 60 and 20 ms in turns and meet in a Barrier after each, although no data goes between them until the end: without
 * it the long turns of one would go beside the short ones of the other.
 * The report: collective_as_barrier, at the Barrier (site:barrier).
 * It would save what the turns took longer than the busiest rank worked.
 * ranks: 2
 */
#define TURNS 20
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(turn % 2 == rank ? 0.06 : 0.02);
        MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
    }
    MPI_Reduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    meet();
    if (rank == 0) injected("collective_as_barrier", "barrier", uneven());
    finish();
    return 0;
}
