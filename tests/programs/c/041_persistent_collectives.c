/* Persistent collectives of MPI-4: made once, started three times.
 * The record: one Bcast_init and one Allreduce_init per rank, 3 Startalls, and the requests completed each time.
 * ranks: 2
 * needs: MPI_Bcast_init
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[2], sum;
    MPI_Request requests[2];
    MPI_Bcast_init(data, 2, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]); /*site:bcast_init*/
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 3; i++) {
        data[1] = 10 * rank + i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(data[1] == 10 + i && sum == 1);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (rank == 0) printf("persistent collectives: done\n");
    MPI_Finalize();
    return 0;
}
