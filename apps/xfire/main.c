#include "xfire.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(void)
{
    fprintf(stderr, "usage: xfire FIRE.conf [--factors F0,F1,F2] [--chunks N] [--margin M] [--chunk POINTS[,LESS]] [--weights W1,W2,...]\n"
                    "             [--workers N] [--show]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* The weights of the workers from the first on; whether they are numbers, and not too many. */
static int read_weights(const char *text)
{
    int used;
    for (int worker = 1; worker < MOST_WORKERS && sscanf(text, "%lf%n", &WEIGHT[worker], &used) == 1 && WEIGHT[worker] > 0; worker++) {
        text += used;
        if (*text == 0) return 1;
        if (*text++ != ',') return 0;
    }
    return 0;
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
    LEAST = conf.least_chunk;
    if (conf.slow_from > 0 && rank >= conf.slow_from) conf.idle_per_point *= 1 + conf.slow;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--factors") && i + 1 < argc && sscanf(argv[++i], "%lf,%lf,%lf", &F0, &F1, &F2) == 3) continue;
        if (!strcmp(argv[i], "--chunks") && i + 1 < argc && (CHUNKS = atoi(argv[++i])) > 0) continue;
        if (!strcmp(argv[i], "--margin") && i + 1 < argc && sscanf(argv[++i], "%lf", &MARGIN) == 1) continue;
        if (!strcmp(argv[i], "--chunk") && i + 1 < argc && sscanf(argv[++i], "%lf,%lf", &CHUNK, &CHUNK_LESS) >= 1) continue;
        if (!strcmp(argv[i], "--weights") && i + 1 < argc && read_weights(argv[++i])) continue;
        if (!strcmp(argv[i], "--workers") && i + 1 < argc && (NW = atoi(argv[++i])) > 0 && NW < size) continue;
        if (!strcmp(argv[i], "--show")) { conf.show = 1; continue; }
        usage();
    }
    if (rank == 0) master(&conf, size); else worker(&conf);
    MPI_Finalize();
    return 0;
}
