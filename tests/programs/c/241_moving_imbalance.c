/* In each of twenty-one turns another of three ranks has twice as much to do as the others; all have done the same in the end.
 * The report: moving_imbalance of the work before the Allreduce (site:allreduce).
 * It would save what the busiest rank of each turn works more than the average of that turn.
 * ranks: 3
 */
#define TURNS 21
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(turn % size == rank ? 0.06 : 0.03);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
    }
    meet();
    if (rank == 0) injected("moving_imbalance", "allreduce", uneven());
    finish();
    return 0;
}
