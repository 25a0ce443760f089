/* Says where each rank is: rank N leaves a file seat-N with the name of its host and the cores it may run on. Nothing is sent, so that it
 * ends whatever lies between the hosts.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    char host[256] = "", name[64];
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "seat-%d", rank);
    FILE *seat = fopen(name, "w");
    if (!seat) MPI_Abort(MPI_COMM_WORLD, 1);
    fputs(host, seat);
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores)) fprintf(seat, " %d", core);
    fclose(seat);

    MPI_Finalize();
    return 0;
}
