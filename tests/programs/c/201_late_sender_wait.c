/* Rank 1 posts an Irecv, works for 20 ms and is in its Wait 80 ms before rank 0 sends, eight times.
 * The report: late_sender on rank 1, at the Wait (site:wait); the 20 ms between Irecv and Wait are no wait.
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
            nap(0.1);
            entering(0);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
            nap(0.02);
            entering(0);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:wait*/
        }
        left(0);
    }
    meet();
    if (rank == 0) injected("late_sender", "wait", waited(0, 1, 0));
    finish();
    return 0;
}
