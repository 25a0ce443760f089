/* A program that an error handler ends with exit(3), inside MPI_Send.
 * The record: that MPI_Send is there, in progress when the rank ended.
 * ranks: 1
 * status: 3
 */
#include "check.h"

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    usleep(20000);
    printf("leaving\n");
    exit(3);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler leaving;
    int data = 0;
    MPI_Comm_create_errhandler(leave, &leaving);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, leaving);
    for (int i = 0; i < 10; i++) MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
    MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); /*site:left*/
    return 0;
}
