/* Everyone sends everyone else as much.
 * The record: wherever ranks are, as much goes from host to host, so placing them does not help.
 * ranks: 8
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int sent[8 * 256], got[8 * 256];
    CHECK(size == 8);
    for (int i = 0; i < 8 * 256; i++) sent[i] = rank;
    for (int step = 0; step < 5; step++) MPI_Alltoall(sent, 256, MPI_INT, got, 256, MPI_INT, MPI_COMM_WORLD);
    CHECK(got[256 * 3] == 3);
    if (rank == 0) printf("everyone: ok\n");
    MPI_Finalize();
    return 0;
}
