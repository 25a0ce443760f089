/* Exchanges in nested loops, between the same pairs of ranks with the same tag: like those of a conjugate gradient solver, with an
 * outer step, inner iterations and reductions by hand. Every message carries the line that sent it.
 * The record: each message leads from the line that it carries to the line that completed it. The program counts them itself.
 * ranks: 4
 */
#include "check.h"

enum { STEPS = 3, INNER = 4, LINES = 128, TAG = 1 };

static int ledger[LINES][LINES], total[LINES][LINES], received[8];

/* A message arrived: it says where it was sent, `line` is where its receive completed. */
static void count(int message, int line) { ledger[message][line]++; }

static void exchange(int peer) {
    int message;
    MPI_Request request;
    MPI_Irecv(&message, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(&(int){__LINE__}, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE), count(message, __LINE__);
}

/* Receives posted in one order and completed in the other, with wildcards. */
static void reversed(int peer) {
    MPI_Request requests[2];
    for (int k = 0; k < 2; k++) MPI_Irecv(&received[k], 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[k]);
    MPI_Send(&(int){__LINE__}, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    MPI_Send(&(int){__LINE__}, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE), count(received[1], __LINE__);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE), count(received[0], __LINE__);
}

static void persistent(int peer) {
    int message = 0, sent = 0;
    MPI_Request requests[2];
    MPI_Recv_init(&message, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&sent, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int k = 0; k < 3; k++) {
        sent = __LINE__ + 1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), count(message, __LINE__);
    }
    for (int k = 0; k < 2; k++) MPI_Request_free(&requests[k]);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int peer = rank ^ 1, across = rank ^ 2, message;
    for (int step = 0; step < STEPS; step++) {
        exchange(peer);
        for (int k = 0; k < INNER; k++) {
            MPI_Sendrecv(&(int){__LINE__}, 1, MPI_INT, peer, TAG, &message, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), count(message, __LINE__);
            exchange(peer);
            MPI_Send(&(int){__LINE__}, 1, MPI_INT, across, TAG, MPI_COMM_WORLD);
            MPI_Recv(&message, 1, MPI_INT, across, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), count(message, __LINE__);
        }
        reversed(peer);
        persistent(peer);
        exchange(across);
        if (step == 1) exchange(peer);
    }
    MPI_Reduce(ledger, total, LINES * LINES, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < LINES; from++)
        for (int to = 0; to < LINES; to++)
            if (total[from][to] > 0) printf("%d to %d: %d\n", from, to, total[from][to]);
    if (rank == 0) printf("message ledger: ok\n");
    MPI_Finalize();
    return 0;
}
