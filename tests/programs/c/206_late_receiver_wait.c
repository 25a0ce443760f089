/* Rank 0 begins a synchronous send, works for 20 ms and is in its Wait 80 ms before rank 1 receives, eight times.
 * The report: late_receiver on rank 0, at the Wait (site:wait); the 20 ms between Issend and Wait are no wait.
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    MPI_Request request;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            MPI_Issend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
            nap(0.02);
            entering(0);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:wait*/
        } else {
            nap(0.1);
            entering(0);
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        left(0);
    }
    meet();
    if (rank == 0) injected("late_receiver", "wait", waited(0, 0, 1));
    finish();
    return 0;
}
