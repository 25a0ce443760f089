/* A program that is linked to MPI and never calls it.
 * The record: no MPI call was seen.
 * ranks: 1
 * status: 6
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc > 99) MPI_Init(&argc, &argv);
    printf("no MPI here\n");
    return 6;
}
