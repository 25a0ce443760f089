/* New parameters go from rank to rank, 0 to 4, and every rank adapts to them; a sum ends each step.
 * Problem: forward() passes the parameters on only after the rank has adapted its own grid (adapt, 50 ms), which does not
 * change them, so the ranks adapt one after another.
 * fixed: the parameters are passed on as soon as they are received. */
#include "twin.h"
#define N 100

static void adapt(const double *parameters, double *grid) {
    work(50);
    grid[0] += parameters[0];
}

static void forward(double *parameters, double *grid) {
    if (rank > 0) MPI_Recv(parameters, N, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!fixed) adapt(parameters, grid); // PROBLEM
    if (rank < size - 1) MPI_Send(parameters, N, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    if (fixed) adapt(parameters, grid);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double parameters[N] = {0}, grid[1] = {0}, sum = 0;
    for (int step = 0; step < 7; step++) {
        if (rank == 0) parameters[0] = step + sum;
        forward(parameters, grid);
        MPI_Allreduce(grid, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    finish("late_forward %.0f", sum);
    return 0;
}
