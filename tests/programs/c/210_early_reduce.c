/* The root is in a Reduce, and in a Gather, 80 ms before the other rank, eight times each.
 * The report: early_reduce on rank 0, at both (site:reduce, site:gather).
 * ranks: 2
 */
#include "waits.h"

enum { REDUCE, GATHER };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out = rank, in[2];
    for (turn = 0; turn < TURNS; turn++) {
        come(REDUCE, 1);
        MPI_Reduce(&out, in, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /*site:reduce*/
        left(REDUCE);
        come(GATHER, 1);
        MPI_Gather(&out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:gather*/
        left(GATHER);
    }
    meet();
    if (rank == 0) {
        injected("early_reduce", "reduce", waited(REDUCE, 0, 1));
        injected("early_reduce", "gather", waited(GATHER, 0, 1));
    }
    finish();
    return 0;
}
