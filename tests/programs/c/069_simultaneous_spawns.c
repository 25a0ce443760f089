/* Both ranks spawn processes at the same time, each on its own, twice. Messages carry the rank of the parent and the round in their tag.
 * The record: the peer of every message between a parent and its children is the process that the tag names.
 * ranks: 2
 * except: mpich (Debian's cannot spawn)
 */
#include "check.h"

enum { ROUNDS = 2, CHILDREN = 2 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Comm children, copy;
            int codes[CHILDREN], tag = 10 * rank + round, echo;
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, codes);
            MPI_Comm_dup(children, &copy);
            for (int child = 0; child < CHILDREN; child++) {
                MPI_Send(&tag, 1, MPI_INT, child, tag, children); /*site:send*/
                MPI_Recv(&echo, 1, MPI_INT, child, tag, copy, MPI_STATUS_IGNORE); /*site:echo*/
                CHECK(echo == tag);
            }
            MPI_Barrier(children);
            MPI_Comm_free(&copy);
            MPI_Comm_disconnect(&children);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) printf("spawned\n");
    } else {
        MPI_Comm copy;
        MPI_Status status;
        int tag;
        MPI_Comm_dup(parent, &copy);
        MPI_Recv(&tag, 1, MPI_INT, 0, MPI_ANY_TAG, parent, &status); /*site:recv*/
        CHECK(status.MPI_TAG == tag);
        MPI_Send(&tag, 1, MPI_INT, 0, tag, copy);
        MPI_Barrier(parent);
        MPI_Comm_free(&copy);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
