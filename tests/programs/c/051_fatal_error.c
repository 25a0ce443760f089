/* An error with the default handler, which ends the run.
 * The record: the Barrier before it is there; the library's own message appears as in the bare run.
 * ranks: 1
 * status: failure
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
    MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
