/* Rank 1 leaves MPI_Init 600 ms after rank 0.
 * The report: init_completion on rank 1, at the Init (site:init).
 * ranks: 2
 * library: 214_init_completion.lib.c
 */
#include "waits.h"

void after_init(void) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) nap(0.6);
}

int main(int argc, char **argv) {
    double enter = now();
    MPI_Init(&argc, &argv); /*site:init*/
    double leave = now();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    open_board();
    board->notes[0][rank].enter[0] = enter;
    board->notes[0][rank].leave[0] = leave;
    meet();
    if (rank == 0) injected("init_completion", "init", stayed(0, 1));
    finish();
    return 0;
}
