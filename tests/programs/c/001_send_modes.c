/* A ring in every blocking send mode.
 * The record: one Send, Ssend, Bsend and Rsend per rank to the right neighbour, tags 10 to 13, of 4, 8, 12, 16 bytes.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int out[4] = {rank, rank, rank, rank}, in[4];

    if (rank == 0) { /* one rank sends first, or a ring of synchronous sends would stand still */
        MPI_Send(out, 1, MPI_INT, right, 10, MPI_COMM_WORLD); /*site:send*/
        MPI_Recv(in, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
        MPI_Ssend(out, 2, MPI_INT, right, 11, MPI_COMM_WORLD);
        MPI_Recv(in, 2, MPI_INT, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, 1, MPI_INT, right, 10, MPI_COMM_WORLD);
        MPI_Recv(in, 2, MPI_INT, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(out, 2, MPI_INT, right, 11, MPI_COMM_WORLD);
    }
    CHECK(in[1] == left);

    char room[1000 + MPI_BSEND_OVERHEAD];
    void *detached;
    int detached_size;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(out, 3, MPI_INT, right, 12, MPI_COMM_WORLD); /*site:bsend*/
    MPI_Recv(in, 3, MPI_INT, left, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &detached_size);
    CHECK(detached == room && detached_size == (int)sizeof room);

    MPI_Request posted;
    MPI_Irecv(in, 4, MPI_INT, left, 13, MPI_COMM_WORLD, &posted);
    MPI_Barrier(MPI_COMM_WORLD); /* a ready send needs its receive posted */
    MPI_Rsend(out, 4, MPI_INT, right, 13, MPI_COMM_WORLD); /*site:rsend*/
    MPI_Wait(&posted, MPI_STATUS_IGNORE);
    CHECK(in[3] == left);

    if (rank == 0) printf("ring of %d in four modes\n", size);
    MPI_Finalize();
    return 0;
}
