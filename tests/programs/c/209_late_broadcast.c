/* The root comes 80 ms late to a Bcast and to a Scatter, eight times each.
 * The report: late_broadcast on ranks 1 and 2, at both (site:bcast, site:scatter).
 * ranks: 3
 */
#include "waits.h"

enum { BCAST, SCATTER };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out[3] = {0}, in = 0;
    for (turn = 0; turn < TURNS; turn++) {
        come(BCAST, 0);
        MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:bcast*/
        left(BCAST);
        come(SCATTER, 0);
        MPI_Scatter(out, 1, MPI_INT, &in, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:scatter*/
        left(SCATTER);
    }
    meet();
    if (rank == 0) {
        injected("late_broadcast", "bcast", waited(BCAST, 1, 0) + waited(BCAST, 2, 0));
        injected("late_broadcast", "scatter", waited(SCATTER, 1, 0) + waited(SCATTER, 2, 0));
    }
    finish();
    return 0;
}
