/* MPI_Abort with code 5 from rank 1 while rank 0 waits for a message.
 * The record: the 10 Sends of rank 0 before it are there.
 * ranks: 2
 * status: failure
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
    }
    if (rank == 0) {
        printf("before the abort\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Recv(&value, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
