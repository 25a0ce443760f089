/* A program that leaves by exit(3) and never calls MPI_Finalize.
 * The record: its 10 Sends are there. (One rank: with more, launchers race to report which one left first.)
 * ranks: 1
 * status: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 10; i++) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD); /*site:send*/
    printf("leaving\n");
    exit(3);
}
