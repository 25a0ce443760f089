/* Test, Testany, Testsome, Testall: first in vain, then until they succeed.
 * The record: rank 0 completes 8 receives, one in Test, one in Testany, two in Testsome, four in Testall.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int in[8], flag, index, done, indices[8], total = 0;
    MPI_Status status, statuses[8];
    MPI_Request requests[8], *some = requests + 2;

    if (rank == 0) {
        for (int tag = 0; tag < 8; tag++)
            MPI_Irecv(&in[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &requests[tag]);
        MPI_Test(&requests[0], &flag, &status); /* rank 1 has not sent yet */
        CHECK(!flag && requests[0] != MPI_REQUEST_NULL);
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag && index == MPI_UNDEFINED);
        MPI_Testsome(2, some, &done, indices, MPI_STATUSES_IGNORE);
        CHECK(done == 0);
        MPI_Testall(4, requests + 4, &flag, statuses);
        CHECK(!flag);
        MPI_Barrier(MPI_COMM_WORLD);

        do MPI_Request_get_status(requests[0], &flag, &status);
        while (!flag && again());
        CHECK(status.MPI_TAG == 0 && requests[0] != MPI_REQUEST_NULL);
        do MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); /*site:test*/
        while (!flag && again());
        do MPI_Testany(2, requests, &index, &flag, &status); /*site:testany*/
        while (!flag && again());
        printf("testany: index %d, tag %d\n", index, status.MPI_TAG);
        while (total < 2) {
            MPI_Testsome(2, some, &done, indices, statuses); /*site:testsome*/
            for (int i = 0; i < done; i++) CHECK(statuses[i].MPI_TAG == indices[i] + 2);
            total += done;
            again();
        }
        do MPI_Testall(4, requests + 4, &flag, MPI_STATUSES_IGNORE); /*site:testall*/
        while (!flag && again());
        for (int tag = 0; tag < 8; tag++) CHECK(in[tag] == 200 + tag && requests[tag] == MPI_REQUEST_NULL);
        printf("all eight\n");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int tag = 0; tag < 8; tag++) {
            int value = 200 + tag;
            MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
