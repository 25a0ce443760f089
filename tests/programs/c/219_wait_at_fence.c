/* Rank 1 comes 80 ms late to the Fence that ends an access, eight times.
 * The report: wait_at_fence on rank 0, at that Fence (site:fence).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        MPI_Put(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
        if (rank == 1) nap(0.08);
        entering(0);
        MPI_Win_fence(0, window); /*site:fence*/
        left(0);
    }
    meet();
    if (rank == 0) injected("wait_at_fence", "fence", waited(0, 0, 1));
    meet();
    MPI_Win_free(&window);
    finish();
    return 0;
}
