/* One-sided exchange with post/start/complete/wait: even ranks put a field into the window of the next odd rank.
 * Problem: in origin() the even rank does its bookkeeping (90 ms) between MPI_Put and MPI_Win_complete, so the odd rank,
 * which solves with the field, waits in MPI_Win_wait for the end of the epoch.
 * fixed: MPI_Win_complete follows the MPI_Put at once, the bookkeeping comes after it. */
#include "twin.h"
#define N 1000
static double field[N];

static void bookkeeping(void) { work(90); }
static void solve(void) { work(100); }

static void origin(MPI_Win window, MPI_Group partner) {
    MPI_Win_start(partner, 0, window);
    MPI_Put(field, N, MPI_DOUBLE, rank + 1, 0, N, MPI_DOUBLE, window);
    if (!fixed) bookkeeping(); // PROBLEM
    MPI_Win_complete(window);
    if (fixed) bookkeeping();
}

static void target(MPI_Win window, MPI_Group partner) {
    MPI_Win_post(partner, 0, window);
    MPI_Win_wait(window);
    solve();
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double *memory, sum = 0, all;
    int other = rank % 2 ? rank - 1 : rank + 1;
    MPI_Win window;
    MPI_Group world, partner;
    MPI_Win_allocate(N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &partner);
    for (int step = 0; step < 8; step++) {
        if (rank % 2 == 0) {
            for (int i = 0; i < N; i++) field[i] = step;
            origin(window, partner);
        } else {
            target(window, partner);
            sum += memory[0];
        }
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Group_free(&partner);
    MPI_Win_free(&window);
    finish("late_complete %.0f", all);
    return 0;
}
