/* Loops in loops, two of which begin with the same call, and a helper that is called from three places.
 * The record: a loop of as many rounds as told, in it one of 3 and, in that, one of 2; the barriers before, between and after are apart.
 * ranks: 2
 * args: 10
 */
#include "check.h"

static void settle(void) { MPI_Barrier(MPI_COMM_WORLD); } /*site:barrier*/

static void exchange(int *here, int *there) {
    MPI_Request requests[2];
    for (int direction = 0; direction < 2; direction++) {
        MPI_Irecv(there, 1, MPI_INT, 1 - rank, direction, MPI_COMM_WORLD, &requests[0]); /*site:irecv*/
        MPI_Isend(here, 1, MPI_INT, 1 - rank, direction, MPI_COMM_WORLD, &requests[1]);  /*site:isend*/
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                                  /*site:waitall*/
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int rounds = atoi(argv[1]), here = rank, there = -1, sum = 0;
    settle();
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:bcast*/
    settle();
    for (int round = 0; round < rounds; round++) {
        for (int part = 0; part < 3; part++) {
            exchange(&here, &there);
            CHECK(there == 1 - rank);
            MPI_Allreduce(&here, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
        }
        MPI_Reduce(&here, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /*site:reduce*/
    }
    MPI_Scan(&here, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:scan*/
    settle();
    if (rank == 0) printf("nested loops: ok\n");
    MPI_Finalize();
    return 0;
}
