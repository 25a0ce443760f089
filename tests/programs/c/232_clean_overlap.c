/* Two ranks work equally long while messages are under way between them, eight times: nothing is wrong.
 * The report: no wait of more than a twentieth of the run, and no advice.
 * ranks: 2
 */
#include "waits.h"

enum { COUNT = 256 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out[COUNT] = {0}, in[COUNT];
    MPI_Request requests[2];
    for (turn = 0; turn < TURNS; turn++) {
        MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        work(0.25);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) printf("clean overlap: done\n");
    finish();
    return 0;
}
