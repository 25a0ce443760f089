/* Half a million calls of one rank: more than a small memory holds.
 * The record: every one of them, also with little memory; with --profile only their sums.
 * ranks: 1
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 500000; i++) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, i % 1000, MPI_COMM_WORLD); /*site:send*/
    printf("many calls: done\n");
    MPI_Finalize();
    return 0;
}
