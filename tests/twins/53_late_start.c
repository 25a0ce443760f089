/* Pairs of ranks with persistent requests: the even one sends 1 MB to the odd one, waits, and prepares the next step; a sum
 * ends each step.
 * Problem: the odd rank starts its receive only after its own computation (analyse, 90 ms), so the even rank waits in
 * MPI_Wait for the rendezvous.
 * fixed: the odd rank starts and completes the receive first, and analyses then. */
#include "twin.h"
#define N (1 << 17)
static double data[N];

static void analyse(void) { work(90); }
static void prepare(int step) {
    work(80);
    data[0] = step;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Request request;
    if (rank % 2 == 0) MPI_Send_init(data, N, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD, &request);
    else MPI_Recv_init(data, N, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, &request);
    double sum = 0;
    for (int step = 0; step < 10; step++) {
        if (rank % 2 == 0) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            prepare(step);
        } else {
            if (!fixed) analyse(); // PROBLEM
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (fixed) analyse();
        }
        double mine = data[0], all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    MPI_Request_free(&request);
    finish("late_start %.0f", sum);
    return 0;
}
