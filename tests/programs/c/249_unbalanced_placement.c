/* Work takes the longer the more ranks share a host, as it does where they share its memory.
 * The report, when three ranks run on one host and one on another: unbalanced_placement.
 * ranks: 4
 */
#include "check.h"
#include <time.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    int beside;
    double out = rank, in;
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &beside);
    for (int turn = 0; turn < 20; turn++) {
        struct timespec time = {0, 15000000L * beside};
        nanosleep(&time, NULL);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&host);
    if (rank == 0) printf("unbalanced placement: done\n");
    MPI_Finalize();
    return 0;
}
