/* Rank 1 works 70 ms in each of fifteen steps, the others 20 ms; each step puts a value into the window of the next rank and ends with a Fence.
 * The report: load_imbalance of the work before the Put (site:put); nothing shows that the machine is slow.
 * It would save what rank 1 works more than the average of all.
 * ranks: 4
 */
#define TURNS 15
#include "waits.h"

static _Alignas(64) double memory[RANKS]; /* MPICH 4.0 misplaces a window on memory that is less aligned */

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double value = rank;
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (turn = 0; turn < TURNS; turn++) {
        work(rank == 1 ? 0.07 : 0.02);
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, rank, 1, MPI_DOUBLE, window); /*site:put*/
        MPI_Win_fence(0, window);
    }
    meet();
    if (rank == 0) injected("load_imbalance", "put", uneven());
    meet();
    MPI_Win_free(&window);
    finish();
    return 0;
}
