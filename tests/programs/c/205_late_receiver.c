/* Rank 0 is in the Send of a large message 80 ms before rank 1 receives it, eight times.
 * The report: late_receiver on rank 0, at the Send (site:send).
 * ranks: 2
 */
#include "waits.h"

enum { BYTES = 1 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char *data = calloc(BYTES, 1);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) {
            entering(0);
            MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD); /*site:send*/
        } else {
            nap(0.08);
            entering(0);
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        left(0);
    }
    meet();
    if (rank == 0) injected("late_receiver", "send", waited(0, 0, 1));
    free(data);
    finish();
    return 0;
}
