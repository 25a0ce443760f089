/* All ranks work equally long before one Allreduce; before the next one rank 2 has twice as much to do, in all of twenty turns.
 * The report: load_imbalance of the work before the second (site:uneven).
 * It would save what rank 2 works more than the average of all.
 * ranks: 3
 */
#define TURNS 20
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(0.02);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        work(rank == 2 ? 0.06 : 0.03);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /*site:uneven*/
    }
    meet();
    if (rank == 0) injected("load_imbalance", "uneven", uneven());
    finish();
    return 0;
}
