/* Of four ranks, 0 hands something to 1 and 3 hands something to 2; rank 3 comes 80 ms late, eight times.
 * The report: wait_at_neighbour_collective on rank 2 alone, at the Neighbor_alltoall (site:exchange).
 * ranks: 4
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int partner = rank ^ 1, takes = rank == 1 || rank == 2, out = rank, in = partner;
    MPI_Comm pairs;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, takes, &partner, MPI_UNWEIGHTED, !takes, &partner, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &pairs);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        if (rank == 1) nap(0.01); /* rank 0 is never late */
        if (rank == 3) nap(0.08);
        entering(0);
        MPI_Neighbor_alltoall(&out, 1, MPI_INT, &in, 1, MPI_INT, pairs); /*site:exchange*/
        left(0);
        CHECK(in == partner);
    }
    meet();
    if (rank == 0) injected("wait_at_neighbour_collective", "exchange", waited(0, 2, 3));
    meet();
    MPI_Comm_free(&pairs);
    finish();
    return 0;
}
