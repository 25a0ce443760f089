/* Datatypes freed and made again with another size: the library gives the same handle to the new one.
 * The record: rank 0 sends 10 messages of 4, 8, ... 40 bytes, then vectors, a resized and a duplicated type of 12 bytes.
 * ranks: 2
 */
#include "check.h"

static void exchange(void *buffer, int count, MPI_Datatype type) {
    if (rank == 0) MPI_Send(buffer, count, type, 1, 0, MPI_COMM_WORLD); /*site:send*/
    if (rank == 1) MPI_Recv(buffer, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[64] = {0};
    for (int n = 1; n <= 10; n++) {
        MPI_Datatype several;
        MPI_Type_contiguous(n, MPI_INT, &several);
        MPI_Type_commit(&several);
        exchange(data, 1, several);
        MPI_Type_free(&several);
    }
    MPI_Datatype spread, wide, copy;
    MPI_Type_vector(3, 1, 4, MPI_INT, &spread); /* 12 bytes in an extent of 36 */
    MPI_Type_create_resized(spread, 0, 64, &wide);
    MPI_Type_commit(&spread);
    MPI_Type_commit(&wide);
    MPI_Type_dup(wide, &copy);
    exchange(data, 1, spread);
    exchange(data, 2, wide);
    MPI_Type_free(&spread);
    MPI_Type_free(&wide);
    exchange(data, 1, copy); /* lives on after the types it was made from */
    MPI_Type_free(&copy);
    if (rank == 0) printf("datatypes: done\n");
    MPI_Finalize();
    return 0;
}
