/* Two ranks work equally long, sum up and share the result, eight times: nothing is wrong.
 * The report: no wait of more than a twentieth of the run, and no advice.
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(0.15);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        work(0.15);
        MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("clean collectives: done\n");
    finish();
    return 0;
}
