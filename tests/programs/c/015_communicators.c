/* Every way to make a communicator, and a message from its rank 0 to its rank 1 in each.
 * The record: peers are world ranks: 0 to 1 where the order is the world's, 3 to 2 in the communicator with reversed keys.
 * ranks: 4
 */
#include "check.h"

static void first_to_second(MPI_Comm comm, int tag) {
    int me, value = tag;
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &me);
    if (me == 0) MPI_Send(&value, 1, MPI_INT, 1, tag, comm); /*site:send*/
    if (me == 1) MPI_Recv(&value, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm made;
    MPI_Request request;
    MPI_Group all, odd;
    int odd_ranks[2] = {1, 3}, dims[2] = {2, 2}, periods[2] = {0, 0}, keep[2] = {0, 1};

    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    first_to_second(made, 1);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made);
    first_to_second(made, 2);
    MPI_Comm_idup(MPI_COMM_WORLD, &made, &request); /*site:idup*/
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    first_to_second(made, 3);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made); /* world 3 is its rank 0 */
    first_to_second(made, 4);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? MPI_UNDEFINED : 1, rank, &made); /* only world 2 and 3 */
    first_to_second(made, 5);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    first_to_second(made, 6);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, odd_ranks, &odd);
    MPI_Comm_create(MPI_COMM_WORLD, odd, &made); /* world 1 and 3 */
    first_to_second(made, 7);
    if (rank % 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 77, &made); /* collective over the group only */
        first_to_second(made, 8);
    }
    MPI_Group_free(&odd);
    MPI_Group_free(&all);

    MPI_Comm cart, row;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_sub(cart, keep, &row); /* world 0 1 and world 2 3 */
    first_to_second(row, 9);
    first_to_second(cart, 10);

    if (rank == 0) printf("communicators: done\n");
    MPI_Finalize();
    return 0;
}
