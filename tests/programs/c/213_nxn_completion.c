/* Both ranks come to the Allreduce together, rank 1 takes 80 ms for the reduction itself, eight times.
 * The report: nxn_completion on rank 1, at the Allreduce (site:allreduce).
 * ranks: 2
 */
#include "waits.h"

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    if (rank == 1) nap(0.08);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out = rank + 1, in;
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    for (turn = 0; turn < TURNS; turn++) {
        meet();
        entering(0);
        MPI_Allreduce(&out, &in, 1, MPI_INT, op, MPI_COMM_WORLD); /*site:allreduce*/
        left(0);
        CHECK(in == 3);
    }
    MPI_Op_free(&op);
    meet();
    if (rank == 0) injected("nxn_completion", "allreduce", stayed(0, 1));
    finish();
    return 0;
}
