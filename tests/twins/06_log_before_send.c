/* Pairs of ranks: the even one computes a field, the odd one solves with it and returns the solution for the next step.
 * Problem: the even rank writes its log (write_log, 70 ms) before it sends the field, although the log needs nothing
 * from the odd rank: the odd rank waits in MPI_Recv for the late sender.
 * fixed: the field is sent first, the log is written while the odd rank solves. */
#include "twin.h"
#define N 200

static void compute_field(double *field, int step) {
    work(40);
    for (int i = 0; i < N; i++) field[i] = step;
}
static void write_log(void) { work(70); }
static void solve(double *field) {
    work(80);
    for (int i = 0; i < N; i++) field[i] += 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double field[N], sum = 0;
    for (int step = 0; step < 9; step++) {
        if (rank % 2 == 0) {
            compute_field(field, step);
            if (!fixed) write_log(); // PROBLEM
            MPI_Send(field, N, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
            if (fixed) write_log();
            MPI_Recv(field, N, MPI_DOUBLE, rank + 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += field[0];
        } else {
            MPI_Recv(field, N, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            solve(field);
            MPI_Send(field, N, MPI_DOUBLE, rank - 1, 2, MPI_COMM_WORLD);
        }
    }
    finish("log_before_send %.0f", sum);
    return 0;
}
