/* Rank 3 works 80 ms in each of twenty steps, the others 30 ms; each step ends with a Reduce to rank 0 and a Bcast of its verdict.
 * The report: load_imbalance of the work before the Reduce (site:reduce).
 * It would save what rank 3 works more than the average of all.
 * ranks: 4
 */
#define TURNS 20
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double part = rank, sum = 0;
    for (turn = 0; turn < TURNS; turn++) {
        work(rank == 3 ? 0.08 : 0.03);
        MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); /*site:reduce*/
        MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    meet();
    if (rank == 0) injected("load_imbalance", "reduce", uneven());
    finish();
    return 0;
}
