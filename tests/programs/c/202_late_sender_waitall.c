/* Rank 0 is in a Waitall for two messages, of which one comes 40 ms and the other 80 ms late, eight times.
 * The report: late_sender on rank 0, at the Waitall (site:waitall); the later message counts, and once.
 * ranks: 3
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int values[2] = {0}, value = rank;
    MPI_Request requests[2];
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            for (int i = 0; i < 2; i++) MPI_Irecv(&values[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
            entering(0);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /*site:waitall*/
            CHECK(values[0] == 1 && values[1] == 2);
        } else {
            nap(0.04 * rank);
            entering(0);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        left(0);
    }
    meet();
    if (rank == 0) injected("late_sender", "waitall", waited(0, 0, 2));
    finish();
    return 0;
}
