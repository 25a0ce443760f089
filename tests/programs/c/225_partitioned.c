/* Rank 0 makes the last partition of a message ready 80 ms after rank 1 began to wait for it, eight times.
 * The report: wait_at_partitioned on rank 1, at the Wait (site:wait).
 * ranks: 2
 * needs: MPI_Psend_init
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int data[2] = {1, 2};
    MPI_Request request;
    if (rank == 0) MPI_Psend_init(data, 2, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Precv_init(data, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        MPI_Start(&request);
        if (rank == 0) {
            MPI_Pready(0, request);
            nap(0.08);
            entering(0);
            MPI_Pready(1, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            entering(0);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:wait*/
        }
        left(0);
    }
    MPI_Request_free(&request);
    meet();
    if (rank == 0) injected("wait_at_partitioned", "wait", waited(0, 1, 0));
    finish();
    return 0;
}
