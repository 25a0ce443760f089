/* Rank 1 comes 80 ms late to the freeing of a window, eight times.
 * The report: wait_at_free on rank 0, at the Win_free (site:free).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Win window;
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        come(0, 1);
        MPI_Win_free(&window); /*site:free*/
        left(0);
    }
    meet();
    if (rank == 0) injected("wait_at_free", "free", waited(0, 0, 1));
    finish();
    return 0;
}
