/* Every blocking collective once, the v and w forms and MPI_IN_PLACE with them.
 * The record: each operation once per rank (Allreduce, Gather, Scatter, Allgather, Reduce, Alltoall twice: once in place).
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int out[9], in[9], sum = 0, root = 1;
    int counts[3] = {1, 2, 3}, displs[3] = {0, 1, 3}, ones[3] = {1, 1, 1}, steps[3] = {0, 1, 2}, bytes[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    for (int i = 0; i < 9; i++) out[i] = 10 * rank + i;

    MPI_Barrier(MPI_COMM_WORLD); /*site:barrier*/
    MPI_Bcast(out, 9, MPI_INT, root, MPI_COMM_WORLD); /*site:bcast*/
    CHECK(out[8] == 18);
    for (int i = 0; i < 9; i++) out[i] = 10 * rank + i;

    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, MPI_COMM_WORLD); /*site:gather*/
    if (rank == root) CHECK(in[5] == 21);
    MPI_Gather(rank == root ? MPI_IN_PLACE : out, 2, MPI_INT, in, 2, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    if (rank == root) CHECK(in[5] == 22);
    MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(in[0] == 10 + 2 * rank);
    MPI_Scatter(out, 2, MPI_INT, rank == root ? MPI_IN_PLACE : in, 2, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, displs, MPI_INT, in, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
    CHECK(in[0] == 10 + displs[rank]);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[2] == 20);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, MPI_COMM_WORLD); /*site:allgather in place*/
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[5] == 22);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[2] == 20 + rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[0] == 10 * rank); /* sent there and back */
    MPI_Alltoallv(out, ones, steps, MPI_INT, in, ones, steps, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[1] == 10 + rank);
    MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD);
    CHECK(in[1] == 10 + rank);
    MPI_Reduce(out, in, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD); /*site:reduce*/
    if (rank == root) CHECK(in[1] == 33);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : out, out, 2, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
    CHECK(sum == 3);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 9);
    for (int i = 0; i < 9; i++) out[i] = i;
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in[0] == 3 * displs[rank]);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in[1] == 3 * (2 * rank + 1));
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == rank * (rank + 1) / 2);
    MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0) CHECK(sum == rank * (rank - 1) / 2);

    if (rank == 0) printf("collectives: done\n");
    MPI_Finalize();
    return 0;
}
