/* Communicators freed and made again with other members: the library gives the same handle to the new one.
 * The record: rank 0 of each pair is the world rank that really sent: 0 to 1, 0 to 2, 2 to 1, ten times in turn.
 * ranks: 3
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int order[3][2] = {{0, 1}, {0, 2}, {2, 1}};
    for (int i = 0; i < 30; i++) {
        int first = order[i % 3][0], second = order[i % 3][1], me, value = i;
        int inside = rank == first || rank == second;
        MPI_Comm pair;
        MPI_Comm_split(MPI_COMM_WORLD, inside ? 1 : MPI_UNDEFINED, rank == second, &pair);
        if (!inside) continue;
        MPI_Comm_rank(pair, &me);
        if (me == 0) MPI_Send(&value, 1, MPI_INT, 1, i, pair); /*site:send*/
        if (me == 1) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i, pair, MPI_STATUS_IGNORE); /*site:recv*/
        CHECK(value == i);
        MPI_Comm_free(&pair);
    }
    if (rank == 0) printf("reuse: done\n");
    MPI_Finalize();
    return 0;
}
