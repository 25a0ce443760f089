/* Sendrecv and Sendrecv_replace on a ring and on a line whose ends are MPI_PROC_NULL, and MPI_PROC_NULL elsewhere.
 * The record: on the ring every rank sends 8 bytes right with tag 1 and gets 8 bytes from the left with tag 1;
 * nothing to or from MPI_PROC_NULL is a message.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int out[2] = {rank, rank}, in[2] = {-1, -1};
    MPI_Status status;

    MPI_Sendrecv(out, 2, MPI_INT, right, 1, in, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &status); /*site:sendrecv*/
    CHECK(in[0] == left && status.MPI_SOURCE == left);
    MPI_Sendrecv(out, 2, MPI_INT, right, 2, in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:wildcard*/
    CHECK(in[0] == left);
    MPI_Sendrecv_replace(out, 1, MPI_INT, right, 3, left, 3, MPI_COMM_WORLD, &status); /*site:replace*/
    CHECK(out[0] == left);

    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    in[0] = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, up, 4, in, 1, MPI_INT, down, 4, MPI_COMM_WORLD, &status); /*site:line*/
    CHECK(in[0] == (rank > 0 ? rank - 1 : -1) && status.MPI_SOURCE == down);

    MPI_Request requests[2];
    MPI_Send(out, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    MPI_Recv(in, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Isend(out, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    if (rank == 0) printf("sendrecv: done\n");
    MPI_Finalize();
    return 0;
}
