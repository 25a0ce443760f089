/* An iterative solver on 4 ranks: local work, then the small coarse system is solved, then the next iteration.
 * Problem: coarse_solve() runs on rank 0 alone (120 ms), between MPI_Gather and MPI_Bcast, and all the others wait.
 * fixed: each rank solves its quarter of the coarse systems, and MPI_Allgather distributes the solutions. */
#include "twin.h"
#define SYSTEMS 8 /* per rank */

static void smooth(double *mine, int iteration) {
    work(100);
    for (int s = 0; s < SYSTEMS; s++) mine[s] = rank + s + iteration;
}

static void coarse_solve(double *systems, int n) {
    work(120.0 * n / (SYSTEMS * size));
    for (int s = 0; s < n; s++) systems[s] *= 2;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine[SYSTEMS], all[SYSTEMS * 16], sum = 0;
    for (int iteration = 0; iteration < 8; iteration++) {
        smooth(mine, iteration);
        if (fixed) {
            coarse_solve(mine, SYSTEMS);
            MPI_Allgather(mine, SYSTEMS, MPI_DOUBLE, all, SYSTEMS, MPI_DOUBLE, MPI_COMM_WORLD);
        } else {
            MPI_Gather(mine, SYSTEMS, MPI_DOUBLE, all, SYSTEMS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            if (rank == 0) coarse_solve(all, SYSTEMS * size); // PROBLEM
            MPI_Bcast(all, SYSTEMS * size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        for (int s = 0; s < SYSTEMS * size; s++) sum += all[s];
    }
    finish("serial_root %.0f", sum);
    return 0;
}
