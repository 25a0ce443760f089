/* Rank 1 kills itself with SIGKILL, which nothing can catch, after 1000 calls.
 * The record: rank 1 is incomplete, and its 500 Sends and 500 Recvs are there.
 * ranks: 2
 * status: failure
 */
#include "check.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 500; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /*site:send*/
    }
    if (rank == 0) {
        printf("before the kill\n");
        fflush(stdout);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        kill(getpid(), SIGKILL);
    }
    MPI_Recv(&value, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
