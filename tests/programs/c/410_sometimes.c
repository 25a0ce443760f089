/* Conditions that no analysis can follow, around calls of MPI: one with both branches, and one beside a call that is always made.
 * The record: of 100 rounds, 30 broadcast much and 40 have a barrier.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    double data[1000] = {0};
    int much[10] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0};
    for (int i = 0; i < 100; i++) {
        if (much[i % 10]) /*site:much*/
            MPI_Bcast(data, 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(data, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (much[i % 5] + much[0] == 2) { /*site:barrier*/
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("sometimes: ok\n");
    MPI_Finalize();
    return 0;
}
