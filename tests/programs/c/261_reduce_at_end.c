/* Rank 3 works 1 s, the others 0.4 s; then one Reduce of the result, as at the end of every program that computes pi. In the trees that libraries
 * use for it, an inner rank waits for rank 3 as well.
 * The report: load_imbalance of the work before it (site:reduce).
 * It would save what rank 3 works more than the average of all.
 * ranks: 4
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double part = rank, sum;
    work(rank == 3 ? 1.0 : 0.4);
    MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); /*site:reduce*/
    /* The root has the result, so all have noted their work. Nobody waits for it but in the Reduce. */
    if (rank == 0) injected("load_imbalance", "reduce", uneven());
    MPI_Finalize();
    return 0;
}
