/* Rank 1 waits for the end of rank 0's access, which lasts 80 ms because rank 0 works before it puts, eight times.
 * The report: early_wait on rank 1, at the Wait (site:wait).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

static void access_epoch(MPI_Group target, MPI_Win window) {
    int value = 7;
    MPI_Win_start(target, 0, window);
    nap(0.08);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    entering(0);
    MPI_Win_complete(window);
    left(0);
}

static void exposure_epoch(MPI_Win window) {
    entering(0);
    MPI_Win_wait(window); /*site:wait*/
    left(0);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int peer = 1 - rank;
    MPI_Win window;
    MPI_Group world, other;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    for (turn = 0; turn < TURNS; turn++) {
        if (rank == 1) MPI_Win_post(other, 0, window);
        meet();
        if (rank == 0) access_epoch(other, window);
        else exposure_epoch(window);
        meet();
    }
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    if (rank == 0) injected("early_wait", "wait", waited(0, 1, 0));
    meet();
    MPI_Win_free(&window);
    finish();
    return 0;
}
