/* Rank 1 works before every Barrier and rank 0 waits for it there.
 * The record: rank 0 spends the larger part of its time in MPI, rank 1 outside; the efficiencies say so.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        double end = MPI_Wtime() + 0.1;
        while (rank == 1 && MPI_Wtime() < end) {
        }
        MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
    }
    if (rank == 0) printf("imbalance: done\n");
    MPI_Finalize();
    return 0;
}
