/* C++: an error handler that throws, through the failed MPI call, to a catch in main.
 * The record: the 10 Sends after the exception are there like any others.
 * ranks: 2
 */
#include <cstdio>
#include <mpi.h>
#include <stdexcept>

static void raise_it(MPI_Comm *, int *, ...) { throw std::runtime_error("an MPI error"); }

int main(int argc, char **argv) {
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler throwing;
    MPI_Comm_create_errhandler(raise_it, &throwing);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, throwing);
    try {
        MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        if (rank == 0) std::printf("nothing thrown\n");
    } catch (const std::exception &error) {
        if (rank == 0) std::printf("caught: %s\n", error.what());
    }
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&data, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Errhandler_free(&throwing);
    MPI_Finalize();
    return 0;
}
