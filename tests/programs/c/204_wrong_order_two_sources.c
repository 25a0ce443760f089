/* Rank 2 sends at once and rank 1 80 ms later; rank 0 receives from rank 1 first, eight times.
 * The report: late_sender_wrong_order on rank 0, at the Recv from rank 1 (site:first).
 * ranks: 3
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            nap(0.005); /* rank 2 is never late */
            entering(0);
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:first*/
            left(0);
            MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            if (rank == 1) nap(0.085);
            entering(0);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            left(0);
        }
    }
    meet();
    if (rank == 0) injected("late_sender_wrong_order", "first", waited(0, 0, 1));
    finish();
    return 0;
}
