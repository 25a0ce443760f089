/* Both ranks send first and receive then: that works as long as the library keeps the message somewhere.
 * On a machine where no message leaves before its receive has begun, they wait for each other.
 * ranks: 2
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char out[1024] = {0}, in[1024];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Send(out, sizeof out, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD); // site:send
        MPI_Recv(in, sizeof in, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("exchanged\n");
    MPI_Finalize();
    return 0;
}
