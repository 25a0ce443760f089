/* Two groups {0, 1} and {2, 3}, joined by an intercommunicator: messages, collectives with MPI_ROOT, a merge, a dup.
 * The record: over the intercommunicator 0 sends to 2, 3 to 1 and 1 to 3 (world ranks: peers are of the other group);
 * in the merged one, where the second group comes first, 2 sends to 3.
 * ranks: 4
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int low = rank < 2, value = 40 + rank, got = -1;
    MPI_Comm half, between, merged, copy;
    MPI_Status status;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 2 : 0, 9, &between); /*site:intercomm_create*/

    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 0, 1, between); /*site:send*/
    if (rank == 2) MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, between, &status); /*site:recv*/
    if (rank == 2) CHECK(got == 40 && status.MPI_SOURCE == 0);
    if (rank == 3) MPI_Send(&value, 1, MPI_INT, 1, 2, between);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 1, 2, between, MPI_STATUS_IGNORE);
    if (rank == 1) CHECK(got == 43);

    int root = rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1;
    MPI_Bcast(&value, 1, MPI_INT, root, between); /*site:bcast*/
    if (!low) CHECK(value == 41);
    MPI_Barrier(between);
    MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, between);
    CHECK(got == (low ? 5 : 1)); /* the sum of the other group */

    MPI_Comm_dup(between, &copy);
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 1, 3, copy);
    if (rank == 3) MPI_Recv(&value, 1, MPI_INT, 1, 3, copy, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);

    int me;
    MPI_Intercomm_merge(between, low, &merged); /* world order 2 3 0 1 */
    MPI_Comm_rank(merged, &me);
    CHECK(me == (rank + 2) % 4);
    if (me == 0) MPI_Send(&value, 1, MPI_INT, 1, 4, merged);
    if (me == 1) MPI_Recv(&value, 1, MPI_INT, 0, 4, merged, MPI_STATUS_IGNORE);

    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    if (rank == 0) printf("intercommunicator: done\n");
    MPI_Finalize();
    return 0;
}
