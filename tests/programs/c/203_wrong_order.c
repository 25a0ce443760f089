/* Rank 0 sends tag 2 at once and tag 1 80 ms later, rank 1 receives tag 1 first, eight times.
 * The report: late_sender_wrong_order on rank 1, at the Recv of tag 1 (site:first).
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            nap(0.08);
            entering(0);
            MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            left(0);
        } else {
            entering(0);
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:first*/
            left(0);
            MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    meet();
    if (rank == 0) injected("late_sender_wrong_order", "first", waited(0, 1, 0));
    finish();
    return 0;
}
