/* Call sites: two calls of one function, a call in an inlined function, a call in a loop, two calls on one line.
 * The record: file and line of each, the inlined one at the line of the MPI call itself.
 * ranks: 1
 * compile: -O2
 */
#include "check.h"

static inline __attribute__((always_inline)) void inlined(int *value) {
    MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); /*site:inlined*/
}

static __attribute__((noinline)) void called(int *value) {
    MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_SELF); /*site:called*/
    *value += 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 1, other = 0;
    inlined(&value);
    inlined(&value);
    called(&value);
    called(&value);
    for (int i = 0; i < 7; i++)
        MPI_Barrier(MPI_COMM_SELF); /*site:loop*/
    MPI_Scan(&value, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_Exscan(&value, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); /*site:one line*/
    printf("value %d\n", value);
    MPI_Finalize();
    return 0;
}
