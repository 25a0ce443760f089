#include "xfire.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the master cuts the front into batches: the share of what is left that the first, the second and every later batch gets. 1 gives
 * everything to the first: equal sections, one for each worker. */
extern double F0, F1, F2;
/* How many workers are used. */
extern int NW;

static void usage(void)
{
    fprintf(stderr, "usage: xfire FIRE.conf [--factors F0,F1,F2] [--workers N] [--show]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size < 2) usage();
    Conf conf;
    conf_read(argv[1], &conf);
    NW = size - 1;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--factors") && i + 1 < argc && sscanf(argv[++i], "%lf,%lf,%lf", &F0, &F1, &F2) == 3) continue;
        if (!strcmp(argv[i], "--workers") && i + 1 < argc && (NW = atoi(argv[++i])) > 0 && NW < size) continue;
        if (!strcmp(argv[i], "--show")) { conf.show = 1; continue; }
        usage();
    }
    if (rank == 0) master(&conf, size); else worker(&conf);
    MPI_Finalize();
    return 0;
}
