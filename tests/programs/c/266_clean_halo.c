/* A halo of 100 kB messages with all neighbours of a grid of 2 x 2 x 2 ranks, of which each has seven, however many ranks there are, and 20 ms of
 * work: nothing is wrong.
 * The report: no all_to_all_growth.
 * ranks: 8
 */
#include "waits.h"

enum { STEPS = 25, NEIGHBOURS = 7, COUNT = 100000 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    static char in[NEIGHBOURS][COUNT], out[NEIGHBOURS][COUNT];
    MPI_Request requests[2 * NEIGHBOURS];
    CHECK(size == NEIGHBOURS + 1);
    for (int step = 0; step < STEPS; step++) {
        nap(0.02);
        for (int i = 0; i < NEIGHBOURS; i++)
            MPI_Irecv(in[i], COUNT, MPI_CHAR, (rank + 1 + i) % size, 0, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < NEIGHBOURS; i++)
            MPI_Isend(out[i], COUNT, MPI_CHAR, (rank + 1 + i) % size, 0, MPI_COMM_WORLD, &requests[NEIGHBOURS + i]);
        MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) printf("clean halo: done\n");
    MPI_Finalize();
    return 0;
}
