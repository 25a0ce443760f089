/* Half of a round trip, at sizes around the bounds of protocols; for SMPI, where time is simulated and ten of them are enough. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 10, LARGEST = 262144 };

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 8, 16, 17, 64, 255, 256, 257, 1000, 4023, 4024, 4025, 4039, 4040, 4041, 4042, 4056, 4057, 8192, 16384,
                                65536, 131072, LARGEST};
    int rank;
    char *buffer = malloc(LARGEST);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        for (int i = 0; i < TIMES; i++) {
            if (rank == 0)
                MPI_Send(buffer, sizes[s], MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, sizes[s], MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(buffer, sizes[s], MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        if (rank == 0)
            printf("%d %.9g\n", sizes[s], (MPI_Wtime() - began) / (2 * TIMES));
    }
    MPI_Finalize();
}
