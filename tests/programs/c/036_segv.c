/* A segmentation fault in rank 1 after some calls.
 * The record: the 10 Recvs of rank 1 before it are there.
 * ranks: 2
 * status: failure
 */
#include "check.h"
#include <signal.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
    }
    if (rank == 0) {
        printf("before the fault\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        signal(SIGSEGV, SIG_DFL); /* some libraries print a backtrace, which differs from run to run */
        raise(SIGSEGV);
    }
    MPI_Recv(&value, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
