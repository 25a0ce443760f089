/* Rank 3 works for 0.4 s, the others for 0.15 s; then one Reduce of the result. In the trees that libraries use for it, rank 3 is not directly
 * below the root: another rank waits as well.
 */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    double part = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    usleep(rank == 3 ? 400000 : 150000);
    MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
