/* A program that finishes MPI as it should and then returns 7.
 * The record: complete; the status of the run is 7.
 * ranks: 2
 * status: 7
 */
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* A launcher may kill the other ranks once one has failed, so the one that fails is the last to end. */
static void wait_for_the_end_of(int process) {
    struct pollfd end = {.fd = syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
    if (end.fd >= 0) poll(&end, 1, -1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int processes[2], own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("seven\n");
    MPI_Finalize();
    if (rank == 1) return 0;
    wait_for_the_end_of(processes[1]);
    return 7;
}
