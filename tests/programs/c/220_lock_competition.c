/* Rank 1 asks for the lock of a window that rank 0 holds for another 80 ms, eight times.
 * The report: lock_competition on rank 1, where the library waits for the lock: at the Lock, the Put or the Unlock
 * (site:lock, site:put, site:unlock).
 * ranks: 2
 */
#include "waits.h"

static _Alignas(64) int memory; /* MPICH 4.0 misplaces a window on memory that is less aligned */

enum { LOCK, PUT, UNLOCK };

static void ask(MPI_Win window) {
    int value = 7;
    entering(LOCK);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /*site:lock*/
    left(LOCK);
    entering(PUT);
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window); /*site:put*/
    left(PUT);
    entering(UNLOCK);
    MPI_Win_unlock(0, window); /*site:unlock*/
    left(UNLOCK);
}

static void hold(MPI_Win window) {
    nap(0.08);
    for (int place = LOCK; place <= UNLOCK; place++) entering(place);
    MPI_Win_unlock(0, window);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 7;
    const char *sites[] = {"lock", "put", "unlock"};
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (turn = 0; turn < TURNS; turn++) {
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_flush(0, window); /* now the lock is held, even by a library that puts off asking for it */
        }
        meet();
        if (rank == 0) hold(window);
        else ask(window);
        MPI_Barrier(MPI_COMM_WORLD); /* in MPI, rank 0 passes its lock on */
    }
    meet();
    for (int place = LOCK; place <= UNLOCK && rank == 0; place++)
        if (waited(place, 1, 0) > 0.1) injected("lock_competition", sites[place], waited(place, 1, 0));
    meet();
    MPI_Win_free(&window);
    finish();
    return 0;
}
