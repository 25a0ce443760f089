/* Pairs of ranks: the even one sends 1 MB to the odd one and then prepares the next step; a sum ends each step.
 * Problem: the odd rank first tidies up its own data (tidy_up, 90 ms) and receives only then; the message is too large
 * for the eager protocol, so the even rank is blocked in MPI_Send until the receive is posted.
 * fixed: the odd rank receives first and tidies up while the even rank prepares the next step. */
#include "twin.h"
#define N (1 << 17)
static double data[N];

static void tidy_up(void) { work(90); }
static void prepare(int step) {
    work(90);
    data[0] = step;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double sum = 0;
    for (int step = 0; step < 10; step++) {
        if (rank % 2 == 0) {
            MPI_Send(data, N, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
            prepare(step);
        } else {
            if (!fixed) tidy_up(); // PROBLEM
            MPI_Recv(data, N, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (fixed) tidy_up();
        }
        double mine = data[0], all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    finish("late_receive %.0f", sum);
    return 0;
}
