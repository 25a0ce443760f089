/* Neighbourhood collectives on a cartesian ring and on a distributed graph (the same ring in one direction).
 * The record: each of the ten operations once per rank, on communicators made by Cart_create and Dist_graph_create_adjacent.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int dims[1] = {size}, periods[1] = {1}, left = (rank + size - 1) % size, right = (rank + 1) % size, one = 1;
    int out[2] = {rank, rank + 100}, in[2], counts[2] = {1, 1}, steps[2] = {0, 1};
    MPI_Aint bytes[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm cart, graph;
    MPI_Request r;

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, cart); /*site:neighbor_allgather*/
    CHECK(in[0] == left && in[1] == right);
    MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, steps, MPI_INT, cart);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart);
    CHECK(in[0] == left + 100 && in[1] == right);
    MPI_Neighbor_alltoallv(out, counts, steps, MPI_INT, in, counts, steps, MPI_INT, cart);
    MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, cart);
    CHECK(in[0] == left + 100 && in[1] == right);

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in[0] == left);
    MPI_Ineighbor_allgatherv(out, 1, MPI_INT, in, &one, steps, MPI_INT, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Ineighbor_alltoallv(out, counts, steps, MPI_INT, in, counts, steps, MPI_INT, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in[0] == left);

    MPI_Comm_free(&graph);
    MPI_Comm_free(&cart);
    if (rank == 0) printf("neighbourhood: done\n");
    MPI_Finalize();
    return 0;
}
