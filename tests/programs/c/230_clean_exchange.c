/* Two ranks work equally long and exchange with their neighbour, eight times: nothing is wrong.
 * The report: no wait of more than a twentieth of the run, and no advice.
 * ranks: 2
 */
#include "waits.h"

enum { COUNT = 256 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out[COUNT] = {0}, in[COUNT];
    for (turn = 0; turn < TURNS; turn++) {
        work(0.25);
        MPI_Sendrecv(out, COUNT, MPI_DOUBLE, 1 - rank, 0, in, COUNT, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("clean exchange: done\n");
    finish();
    return 0;
}
