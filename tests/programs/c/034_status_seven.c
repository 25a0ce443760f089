/* A program that finishes MPI as it should and then returns 7.
 * The record: complete; the status of the run is 7.
 * ranks: 2
 * status: 7
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("seven\n");
    MPI_Finalize();
    return 7;
}
