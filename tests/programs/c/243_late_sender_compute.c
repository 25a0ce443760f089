/* Two ranks work in turns: rank 0 works while rank 1 waits for its message, then rank 1 works while rank 0 waits for the answer.
 * The report: late_sender_compute, of the work before the sends (site:send, site:answer) that the receives wait for.
 * Both ranks work equally much, so there is no imbalance.
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    for (turn = 0; turn < TURNS; turn++) {
        if (rank == 0) {
            work(0.05);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /*site:send*/
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(0.05);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /*site:answer*/
        }
    }
    if (rank == 0) printf("late sender compute: done\n");
    finish();
    return 0;
}
