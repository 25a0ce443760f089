/* The plugin of 031_plugin.c. */
#include "check.h"

void run(int argc, char **argv) {
    int value;
    start(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        value = i;
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("plugin: done\n");
    MPI_Finalize();
}
