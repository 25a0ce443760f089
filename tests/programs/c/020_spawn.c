/* A program that spawns two more of itself, talks to them over the intercommunicator and merges with them.
 * The record: one Comm_spawn per parent; the parents' own messages are there.
 * ranks: 2
 * except: mpich (Debian's cannot spawn)
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm parent, children, all;
    int value = 0, sum = 0, codes[2];
    MPI_Comm_get_parent(&parent);

    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes); /*site:spawn*/
        CHECK(codes[0] == MPI_SUCCESS);
        value = 100 + rank;
        MPI_Send(&value, 1, MPI_INT, rank, 1, children); /*site:send*/
        MPI_Recv(&value, 1, MPI_INT, rank, 2, children, MPI_STATUS_IGNORE); /*site:recv*/
        CHECK(value == 200 + rank);
        MPI_Intercomm_merge(children, 0, &all);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
        if (rank == 0) printf("spawn: sum of ranks %d\n", sum);
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&children);
    } else {
        MPI_Recv(&value, 1, MPI_INT, rank, 1, parent, MPI_STATUS_IGNORE);
        CHECK(value == 100 + rank);
        value = 200 + rank;
        MPI_Send(&value, 1, MPI_INT, rank, 2, parent);
        MPI_Intercomm_merge(parent, 1, &all);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
