/* Rank 0 begins to access the window of rank 1 80 ms before rank 1 posts it, eight times.
 * The report: late_post on rank 0, where the library waits for the post: at the Start, the Put or the Complete
 * (site:start, site:put, site:complete).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

enum { START, PUT, COMPLETE };

static void access_epoch(MPI_Group target, MPI_Win window) {
    int value = 7;
    entering(START);
    MPI_Win_start(target, 0, window); /*site:start*/
    left(START);
    entering(PUT);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); /*site:put*/
    left(PUT);
    entering(COMPLETE);
    MPI_Win_complete(window); /*site:complete*/
    left(COMPLETE);
}

static void exposure_epoch(MPI_Group origin, MPI_Win window) {
    nap(0.08);
    for (int place = START; place <= COMPLETE; place++) entering(place);
    MPI_Win_post(origin, 0, window);
    MPI_Win_wait(window);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int peer = 1 - rank;
    const char *sites[] = {"start", "put", "complete"};
    MPI_Win window;
    MPI_Group world, other;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 0) access_epoch(other, window);
        else exposure_epoch(other, window);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    meet();
    for (int place = START; place <= COMPLETE && rank == 0; place++)
        if (waited(place, 0, 1) > 0.1) injected("late_post", sites[place], waited(place, 0, 1));
    meet();
    MPI_Win_free(&window);
    finish();
    return 0;
}
