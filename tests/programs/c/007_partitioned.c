/* Partitioned communication: a message sent in four pieces, each when it is ready, used twice.
 * The record: Psend_init, Precv_init, Start, Pready, Pready_range, Pready_list and the Waits, 2 messages of 32 bytes.
 * ranks: 2
 * needs: MPI_Psend_init
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[8] = {0}, piece[1] = {3}, flag;
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(data, 4, 2, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request); /*site:psend_init*/
    else
        MPI_Precv_init(data, 4, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 1; round <= 2; round++) {
        MPI_Start(&request);
        if (rank == 0) {
            for (int i = 0; i < 8; i++) data[i] = round * i;
            MPI_Pready(0, request); /*site:pready*/
            MPI_Pready_range(1, 2, request);
            MPI_Pready_list(1, piece, request);
        } else {
            do MPI_Parrived(request, 3, &flag);
            while (!flag && again());
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(data[7] == round * 7);
    }
    MPI_Request_free(&request);
    if (rank == 0) printf("partitioned: done\n");
    MPI_Finalize();
    return 0;
}
