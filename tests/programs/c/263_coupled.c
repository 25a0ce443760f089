/* Two coupled components: ranks 0 and 1 are the ocean and work 100 ms in each of twenty steps, ranks 2 and 3 the atmosphere and work 40 ms. They
 * call the exchange from functions of their own, so no part of the program shows the imbalance.
 * The report: role_imbalance, of the ocean, before it begins to exchange (site:exchange).
 * It would save what the ocean works more than the average of all.
 * ranks: 4
 */
#define TURNS 20
#include "waits.h"

static double out, in;
static MPI_Request requests[2];

static void start_exchange(int peer) {
    MPI_Irecv(&in, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[0]); /*site:exchange*/
    MPI_Isend(&out, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[1]);
}

static void ocean(int peer) {
    for (turn = 0; turn < TURNS; turn++) {
        MPI_Status statuses[2];
        work(0.1);
        start_exchange(peer);
        MPI_Waitall(2, requests, statuses);
    }
}

static void atmosphere(int peer) {
    for (turn = 0; turn < TURNS; turn++) {
        MPI_Status statuses[2];
        work(0.04);
        start_exchange(peer);
        MPI_Waitall(2, requests, statuses);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (rank < 2) ocean(rank + 2);
    else atmosphere(rank - 2);
    meet();
    if (rank == 0) injected("role_imbalance", "exchange", uneven());
    finish();
    return 0;
}
