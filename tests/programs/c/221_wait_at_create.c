/* Rank 1 comes 80 ms late to the making of a window and to that of a communicator, eight times each.
 * The report: wait_at_create on rank 0, at both (site:window, site:communicator).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

enum { WINDOW, COMMUNICATOR };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Win window;
    MPI_Comm communicator;
    for (turn = 0; turn < TURNS; turn++) {
        come(WINDOW, 1);
        MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window); /*site:window*/
        left(WINDOW);
        come(COMMUNICATOR, 1);
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &communicator); /*site:communicator*/
        left(COMMUNICATOR);
        meet();
        MPI_Comm_free(&communicator);
        MPI_Win_free(&window);
    }
    meet();
    if (rank == 0) {
        injected("wait_at_create", "window", waited(WINDOW, 0, 1));
        injected("wait_at_create", "communicator", waited(COMMUNICATOR, 0, 1));
    }
    finish();
    return 0;
}
