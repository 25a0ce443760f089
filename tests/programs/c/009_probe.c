/* Probe, Iprobe, Mprobe with Mrecv, Improbe with Imrecv, all with wildcards, and a matched probe of MPI_PROC_NULL.
 * The record: four messages from rank 1 to rank 0 of 4, 8, 12, 16 bytes, received in Recv, Recv, Mrecv and Wait.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[8] = {0}, flag, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;

    if (rank == 1) {
        for (int i = 1; i <= 4; i++) MPI_Send(data, i, MPI_INT, 0, 20 + i, MPI_COMM_WORLD);
    } else {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /*site:probe*/
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == 21 && count == 1);
        MPI_Recv(data, count, MPI_INT, 1, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

        do MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status); /*site:iprobe*/
        while (!flag && again());
        CHECK(status.MPI_TAG == 22);
        MPI_Recv(data, 8, MPI_INT, 1, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); /*site:mprobe*/
        MPI_Mrecv(data, 8, MPI_INT, &message, &status); /*site:mrecv*/
        CHECK(status.MPI_TAG == 23 && message == MPI_MESSAGE_NULL);

        do MPI_Improbe(MPI_ANY_SOURCE, 24, MPI_COMM_WORLD, &flag, &message, &status);
        while (!flag && again());
        MPI_Imrecv(data, 8, MPI_INT, &message, &request); /*site:imrecv*/
        MPI_Wait(&request, MPI_STATUS_IGNORE);

        MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
        CHECK(message == MPI_MESSAGE_NO_PROC);
        MPI_Mrecv(data, 8, MPI_INT, &message, &status);
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
        printf("probes: done\n");
    }
    MPI_Finalize();
    return 0;
}
