/* Every nonblocking collective once, started together and completed by one Waitall; Ibarrier by Test.
 * The record: each of the 17 operations once per rank; the requests of 16 of them are completed in one Waitall.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int out[16][9], in[16][9], sum[16], flag, k = 0, root = 2;
    int counts[3] = {1, 2, 3}, displs[3] = {0, 1, 3}, ones[3] = {1, 1, 1}, steps[3] = {0, 1, 2}, bytes[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request requests[16], barrier;
    for (int j = 0; j < 16; j++)
        for (int i = 0; i < 9; i++) out[j][i] = 10 * rank + i;

    MPI_Ibcast(out[k], 9, MPI_INT, root, world, &requests[k]); k++; /*site:ibcast*/
    MPI_Igather(out[k], 2, MPI_INT, in[k], 2, MPI_INT, root, world, &requests[k]); k++;
    MPI_Igatherv(out[k], counts[rank], MPI_INT, in[k], counts, displs, MPI_INT, root, world, &requests[k]); k++;
    MPI_Iscatter(out[k], 2, MPI_INT, in[k], 2, MPI_INT, root, world, &requests[k]); k++;
    MPI_Iscatterv(out[k], counts, displs, MPI_INT, in[k], counts[rank], MPI_INT, root, world, &requests[k]); k++;
    MPI_Iallgather(out[k], 1, MPI_INT, in[k], 1, MPI_INT, world, &requests[k]); k++;
    MPI_Iallgatherv(out[k], counts[rank], MPI_INT, in[k], counts, displs, MPI_INT, world, &requests[k]); k++;
    MPI_Ialltoall(out[k], 1, MPI_INT, in[k], 1, MPI_INT, world, &requests[k]); k++;
    MPI_Ialltoallv(out[k], ones, steps, MPI_INT, in[k], ones, steps, MPI_INT, world, &requests[k]); k++;
    MPI_Ialltoallw(out[k], ones, bytes, types, in[k], ones, bytes, types, world, &requests[k]); k++;
    MPI_Ireduce(out[k], in[k], 2, MPI_INT, MPI_SUM, root, world, &requests[k]); k++;
    sum[k] = rank;
    MPI_Iallreduce(MPI_IN_PLACE, &sum[k], 1, MPI_INT, MPI_SUM, world, &requests[k]); k++; /*site:iallreduce*/
    MPI_Ireduce_scatter(out[k], in[k], counts, MPI_INT, MPI_SUM, world, &requests[k]); k++;
    MPI_Ireduce_scatter_block(out[k], in[k], 2, MPI_INT, MPI_SUM, world, &requests[k]); k++;
    MPI_Iscan(&rank, &sum[k], 1, MPI_INT, MPI_SUM, world, &requests[k]); k++;
    MPI_Iexscan(&rank, &sum[k], 1, MPI_INT, MPI_SUM, world, &requests[k]); k++;
    CHECK(k == 16);
    MPI_Waitall(16, requests, MPI_STATUSES_IGNORE); /*site:waitall*/
    CHECK(out[0][8] == 28 && in[5][2] == 20 && in[7][2] == 20 + rank && sum[11] == 3 && sum[14] == rank * (rank + 1) / 2);

    MPI_Ibarrier(world, &barrier);
    do MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
    while (!flag && again());
    if (rank == 0) printf("nonblocking collectives: done\n");
    MPI_Finalize();
    return 0;
}
