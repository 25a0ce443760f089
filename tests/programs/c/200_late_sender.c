/* Rank 1 is in its Recv 80 ms before rank 0 sends, eight times.
 * The report: late_sender on rank 1, at the Recv (site:recv).
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            nap(0.08);
            entering(0);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            entering(0);
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
        }
        left(0);
    }
    meet();
    if (rank == 0) injected("late_sender", "recv", waited(0, 1, 0));
    finish();
    return 0;
}
