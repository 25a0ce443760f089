/* Four ranks hand two megabytes to each of the others sixty times, and hardly work in between: the time of the run is
 * that of an operation whose messages grow with the square of the ranks.
 * The report: all_to_all_growth, at the Alltoall (site:alltoall).
 * ranks: 4
 */
#define TURNS 60
#include "waits.h"

enum { COUNT = 1 << 18 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double *out = calloc(4 * COUNT, sizeof *out), *in = calloc(4 * COUNT, sizeof *in), spent = 0;
    for (int i = 0; i < 4 * COUNT; i++) out[i] = i;
    for (turn = 0; turn < TURNS; turn++) {
        work(0.001);
        double begin = now();
        MPI_Alltoall(out, COUNT, MPI_DOUBLE, in, COUNT, MPI_DOUBLE, MPI_COMM_WORLD); /*site:alltoall*/
        spent += now() - begin;
    }
    if (rank == 0) injected("all_to_all_growth", "alltoall", spent);
    free(out);
    free(in);
    finish();
    return 0;
}
