/* Rank 0 reads numbers from its standard input.
 * The record: one Bcast per rank; the input reaches the program untouched.
 * ranks: 2
 * stdin: 1 2 3 4 5
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value, sum = 0;
    if (rank == 0) /* not up to the end: Open MPI 5 does not always tell a rank where that is */
        for (int i = 0; i < 5 && scanf("%d", &value) == 1; i++) sum += value;
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:bcast*/
    if (rank == 0) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
