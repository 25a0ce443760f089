/* A program that goes to another folder, sets a strict umask and changes its environment.
 * The record: complete and where it was asked for, 10 Sends.
 * ranks: 2
 */
#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (chdir("/") != 0) return 1;
    umask(0077);
    start(&argc, &argv);
    int value = 0;
    clearenv();
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (chdir("/tmp") != 0) return 1;
    if (rank == 0) printf("elsewhere: done\n");
    MPI_Finalize();
    return 0;
}
