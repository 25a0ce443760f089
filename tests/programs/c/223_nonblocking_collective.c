/* Rank 0 begins an Iallreduce, works for 20 ms and is in its Wait 80 ms before rank 1 begins it, eight times.
 * The report: wait_at_nonblocking_collective on rank 0, at the Wait (site:wait); the 20 ms before the Wait are no wait.
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out = 1, in;
    MPI_Request request;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
            nap(0.02);
            entering(0);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:wait*/
        } else {
            nap(0.1);
            entering(0);
            MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        left(0);
        CHECK(in == 2);
    }
    meet();
    if (rank == 0) injected("wait_at_nonblocking_collective", "wait", waited(0, 0, 1));
    finish();
    return 0;
}
