/* MPI_Pcontrol(0) stops the recording and MPI_Pcontrol(1) resumes it; other levels and more arguments do no harm.
 * The record: the 5 Sends before and the 3 after, not the 7 between; the receive posted before completes unseen.
 * ranks: 2
 */
#include "check.h"

static void exchange(int times) {
    int value = 0;
    for (int i = 0; i < times; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int in, out = rank;
    MPI_Request request;
    exchange(5);
    MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 50, MPI_COMM_WORLD, &request);
    MPI_Pcontrol(0);
    exchange(7);
    MPI_Comm dup; /* made unseen, used seen */
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Ssend(&out, 1, MPI_INT, 1 - rank, 50, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    exchange(3);
    MPI_Allreduce(&rank, &out, 1, MPI_INT, MPI_SUM, dup); /*site:allreduce*/
    MPI_Comm_free(&dup);
    MPI_Pcontrol(2, "more", 3.5, &out);
    CHECK(in == 1 - rank && out == 1);
    if (rank == 0) printf("pcontrol: done\n");
    MPI_Finalize();
    return 0;
}
