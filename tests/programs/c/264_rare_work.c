/* All ranks work 30 ms before each of forty Allreduces; before the 13th and the 28th, rank 0 works another 0.4 s, as for a checkpoint.
 * The report: load_imbalance of rank 0 (site:allreduce), and when: in the 12th and the 27th execution between two Allreduces.
 * It would save what rank 0 works more than the average of all.
 * ranks: 4
 */
#define TURNS 40
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(0.03);
        if (rank == 0 && (turn == 12 || turn == 27)) work(0.4);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
    }
    meet();
    if (rank == 0) injected("load_imbalance", "allreduce", uneven());
    finish();
    return 0;
}
