/* Wildcard receives, with a status and with MPI_STATUS_IGNORE, blocking and nonblocking, and on a communicator
 * whose ranks run backwards.
 * The record: rank 0 receives from world ranks 1, 2, 1, {1, 2}, 2 with the tags and bytes that were really sent.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[10] = {0};
    MPI_Status status;
    MPI_Request request[2];
    MPI_Comm backwards;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);

    if (rank == 1) MPI_Send(data, 1, MPI_INT, 0, 101, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /*site:status*/
        int count;
        MPI_Get_count(&status, MPI_INT, &count);
        printf("from %d tag %d: %d\n", status.MPI_SOURCE, status.MPI_TAG, count);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 2) MPI_Send(data, 2, MPI_INT, 0, 102, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:ignore*/
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 1) MPI_Send(data, 3, MPI_INT, 0, 103, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Irecv(data, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request); /*site:irecv*/
        MPI_Wait(request, MPI_STATUS_IGNORE); /*site:wait*/
        CHECK(request[0] == MPI_REQUEST_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank > 0) MPI_Send(data, 3 + rank, MPI_INT, 0, 103 + rank, MPI_COMM_WORLD);
    if (rank == 0) {
        int other[10];
        MPI_Irecv(data, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(other, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE); /*site:waitall*/
    }
    MPI_Barrier(MPI_COMM_WORLD);

    /* world rank 2 is rank 0 of the backwards communicator, world rank 0 is its rank 2 */
    if (rank == 2) MPI_Send(data, 6, MPI_INT, 2, 106, backwards);
    if (rank == 0) {
        MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, backwards, &status); /*site:backwards*/
        printf("backwards from %d tag %d\n", status.MPI_SOURCE, status.MPI_TAG);
    }
    MPI_Comm_free(&backwards);
    MPI_Finalize();
    return 0;
}
