/* Nonblocking receives completed a few at a time: Waitany, Waitsome, Waitall over an array with holes.
 * The record: each of the four receives of rank 0 completes once: tag 2 in Waitany, 0 and 3 in Waitsome, 1 in Waitall.
 * ranks: 2
 */
#include "check.h"

static void send(int value, int tag) {
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request); /*site:isend*/
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int in[4], indices[4], index, done, seen = 0;
    MPI_Status status, statuses[4];
    MPI_Request requests[4];

    if (rank == 0) {
        for (int tag = 0; tag < 4; tag++)
            MPI_Irecv(&in[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &requests[tag]); /*site:irecv*/
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitany(4, requests, &index, &status); /*site:waitany*/
        printf("waitany: index %d, tag %d, value %d\n", index, status.MPI_TAG, in[index]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int left = 2; left > 0; left -= done) {
            MPI_Waitsome(4, requests, &done, indices, statuses); /*site:waitsome*/
            for (int i = 0; i < done; i++) {
                CHECK(statuses[i].MPI_TAG == indices[i]);
                seen |= 1 << indices[i];
            }
        }
        printf("waitsome: set %d\n", seen);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(4, requests, statuses); /*site:waitall*/
        printf("waitall: tag %d, value %d\n", statuses[1].MPI_TAG, in[1]);
        MPI_Waitany(4, requests, &index, &status); /* nothing is left */
        CHECK(index == MPI_UNDEFINED);
        MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
        CHECK(done == MPI_UNDEFINED);
        MPI_Wait(&requests[0], &status);
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        send(102, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        send(100, 0);
        send(103, 3);
        MPI_Barrier(MPI_COMM_WORLD);
        send(101, 1);
    }
    MPI_Finalize();
    return 0;
}
