/* Rank 0 receives from rank 1, which has to work first, and only then from rank 2, whose message has long been there; it has
 * 30 ms of work on each. In the other order it would do the one while it waits for the other.
 * The report: message_order, at the Recv from rank 1 (site:first).
 * It would save the smaller of the wait and the work that could fill it.
 * ranks: 3
 */
#define TURNS 12
#include "waits.h"

enum { WAIT };

/* Half of rank 0's work is on the message that is there already. */
static double filling(void) {
    double sum = 0;
    for (int i = 0; i < TURNS; i++) sum += board->worked[0][i] / 2;
    return sum;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    for (turn = 0; turn < TURNS; turn++) {
        if (rank == 0) {
            entering(WAIT);
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:first*/
            left(WAIT);
            work(0.03);
            MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(0.03);
        } else {
            if (rank == 1) work(0.04);
            entering(WAIT);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            left(WAIT);
            work(rank == 1 ? 0.02 : 0.06);
        }
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    meet();
    if (rank == 0) injected("message_order", "first", least(waited(WAIT, 0, 1), filling()));
    finish();
    return 0;
}
