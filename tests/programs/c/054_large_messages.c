/* Messages larger than any eager limit, and sizes that fall into different classes.
 * The record: from 0 to 1 messages of 1, 1000 and 4000000 bytes, two each.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int sizes[3] = {1, 1000, 4000000};
    char *data = calloc(1, 4000000);
    for (int i = 0; i < 6; i++) {
        if (rank == 0) MPI_Send(data, sizes[i % 3], MPI_CHAR, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(data, 4000000, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
    }
    free(data);
    if (rank == 0) printf("large messages: done\n");
    MPI_Finalize();
    return 0;
}
