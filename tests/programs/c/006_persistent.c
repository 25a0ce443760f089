/* Persistent requests, started one by one and together, and requests freed while their message travels.
 * The record: 12 messages of 104 bytes from rank 0 to rank 1, and each started receive completed once.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[4] = {0}, more[4] = {0}, peer = 1 - rank;
    MPI_Request single, pair[2], last;

    if (rank == 0) {
        MPI_Send_init(data, 2, MPI_INT, peer, 1, MPI_COMM_WORLD, &single); /*site:send_init*/
        MPI_Send_init(data, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &pair[0]);
        MPI_Ssend_init(more, 3, MPI_INT, peer, 3, MPI_COMM_WORLD, &pair[1]);
    } else {
        MPI_Recv_init(data, 4, MPI_INT, peer, 1, MPI_COMM_WORLD, &single); /*site:recv_init*/
        MPI_Recv_init(data, 4, MPI_INT, peer, 2, MPI_COMM_WORLD, &pair[0]);
        MPI_Recv_init(more, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pair[1]);
    }
    for (int i = 0; i < 5; i++) {
        if (rank == 0) data[1] = i;
        MPI_Start(&single); /*site:start*/
        MPI_Wait(&single, MPI_STATUS_IGNORE);
        CHECK(data[1] == i && single != MPI_REQUEST_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        if (rank == 0) data[0] = more[2] = i;
        MPI_Startall(2, pair); /*site:startall*/
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        CHECK(data[0] == i && more[2] == i);
    }
    MPI_Request_free(&single);
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);

    if (rank == 0) {
        MPI_Isend(data, 4, MPI_INT, peer, 4, MPI_COMM_WORLD, &last);
        MPI_Request_free(&last);
    } else {
        MPI_Recv(data, 4, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the freed message has left its buffer */
    if (rank == 0) printf("persistent: done\n");
    MPI_Finalize();
    return 0;
}
