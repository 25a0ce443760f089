/* Rank 1 comes 80 ms late to an Allreduce, an Allgatherv and an Alltoall, eight times each.
 * The report: wait_at_nxn on rank 0, at each of the three (site:allreduce, site:allgatherv, site:alltoall).
 * ranks: 2
 */
#include "waits.h"

enum { ALLREDUCE, ALLGATHERV, ALLTOALL };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out[2] = {rank, rank}, in[2], counts[2] = {1, 1}, steps[2] = {0, 1};
    for (turn = 0; turn < TURNS; turn++) {
        come(ALLREDUCE, 1);
        MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
        left(ALLREDUCE);
        come(ALLGATHERV, 1);
        MPI_Allgatherv(out, 1, MPI_INT, in, counts, steps, MPI_INT, MPI_COMM_WORLD); /*site:allgatherv*/
        left(ALLGATHERV);
        come(ALLTOALL, 1);
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD); /*site:alltoall*/
        left(ALLTOALL);
    }
    meet();
    if (rank == 0) {
        injected("wait_at_nxn", "allreduce", waited(ALLREDUCE, 0, 1));
        injected("wait_at_nxn", "allgatherv", waited(ALLGATHERV, 0, 1));
        injected("wait_at_nxn", "alltoall", waited(ALLTOALL, 0, 1));
    }
    finish();
    return 0;
}
