/* One-sided exchange with post/start/complete/wait: even ranks put a boundary into the window of the next odd rank.
 * Problem: in target() the odd rank does its independent computation (inner, 110 ms) before MPI_Win_post, so the even rank
 * waits in MPI_Win_start or MPI_Win_complete and starts its own computation only then.
 * fixed: the window is posted and waited for first, the independent computation comes after it. */
#include "twin.h"
#define N 1000
static double boundary[N];

static void inner(void) { work(110); }
static void next_boundary(int step) {
    work(100);
    for (int i = 0; i < N; i++) boundary[i] = step;
}

static void target(MPI_Win window, MPI_Group partner) {
    if (!fixed) inner(); // PROBLEM
    MPI_Win_post(partner, 0, window);
    MPI_Win_wait(window);
    if (fixed) inner();
}

static void origin(MPI_Win window, MPI_Group partner) {
    MPI_Win_start(partner, 0, window);
    MPI_Put(boundary, N, MPI_DOUBLE, rank + 1, 0, N, MPI_DOUBLE, window);
    MPI_Win_complete(window);
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
            origin(window, partner);
            next_boundary(step);
        } else {
            target(window, partner);
            sum += memory[0];
        }
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Group_free(&partner);
    MPI_Win_free(&window);
    finish("late_post %.0f", all);
    return 0;
}
