/* Rank 1 comes 80 ms late to a Scan and to an Exscan, eight times each: rank 2 needs what it brings, rank 0 does not,
 * but waits all the same under the algorithm of MPICH.
 * The report: early_scan on rank 2, with MPICH also on rank 0, at both (site:scan, site:exscan).
 * ranks: 3
 */
#include "waits.h"

enum { SCAN, EXSCAN };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        come(SCAN, 1);
        MPI_Scan(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:scan*/
        left(SCAN);
        come(EXSCAN, 1);
        MPI_Exscan(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:exscan*/
        left(EXSCAN);
    }
    meet();
    if (rank == 0) {
        injected("early_scan", "scan", waited(SCAN, 2, 1) + waited(SCAN, 0, 1));
        injected("early_scan", "exscan", waited(EXSCAN, 2, 1) + waited(EXSCAN, 0, 1));
    }
    finish();
    return 0;
}
