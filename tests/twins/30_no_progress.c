/* Two pairs of ranks: the even rank fills and sends 1 MB and then prepares the next step; the odd rank has posted MPI_Irecv and
 * computes. A sum ends each step.
 * Problem: compute() makes no MPI call for 100 ms, so the library cannot answer the rendezvous of the even rank, which stays
 * blocked in MPI_Send until the odd rank comes to MPI_Wait: the nonblocking receive does not progress.
 * fixed: compute() calls MPI_Test ten times in between. */
#include "twin.h"
#define N (1 << 17)
static double data[N];

static void compute(MPI_Request *pending) {
    int done = 0;
    if (!fixed) work(100); // PROBLEM
    else
        for (int part = 0; part < 10; part++) {
            if (!done) MPI_Test(pending, &done, MPI_STATUS_IGNORE);
            work(10);
        }
}

static void fill(int step) {
    work(10);
    data[0] = step;
}
static void prepare(void) { work(80); }

int main(int argc, char **argv) {
    start(&argc, &argv);
    double total = 0;
    for (int step = 0; step < 8; step++) {
        MPI_Request pending;
        if (rank % 2 == 0) {
            fill(step);
            MPI_Send(data, N, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
            prepare();
        } else {
            MPI_Irecv(data, N, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &pending);
            compute(&pending);
            MPI_Wait(&pending, MPI_STATUS_IGNORE);
        }
        double sum;
        MPI_Allreduce(data, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    finish("no_progress %.0f", total);
    return 0;
}
