/* The large-count functions of MPI-4, and a count that does not fit into an int.
 * The record: they appear under their plain names: Send, Recv, Isend, Irecv, Bcast, Allreduce, Type_contiguous.
 * ranks: 2
 * needs: MPI_Send_c
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[4] = {rank, rank, rank, rank}, in[4];
    MPI_Request request;
    MPI_Count length = 3, large = 3000000000;
    MPI_Datatype three;
    if (rank == 0) {
        MPI_Send_c(data, length, MPI_INT, 1, 1, MPI_COMM_WORLD); /*site:send*/
        MPI_Isend_c(data, length, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    } else {
        MPI_Recv_c(in, length, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv_c(in, length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast_c(data, 4, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(data[3] == 1);
    MPI_Allreduce_c(&rank, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in[0] == 1);
    MPI_Type_contiguous_c(length, MPI_INT, &three);
    MPI_Type_commit(&three);
    if (rank == 0) MPI_Send_c(data, 1, three, 1, 3, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv_c(in, 1, three, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&three);
    MPI_Send_c(data, large, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    if (rank == 0) printf("large counts: done\n");
    MPI_Finalize();
    return 0;
}
