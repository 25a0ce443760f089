/* What every C program here shares: a check that ends the run, loudly, when MPI gave a wrong result. */
#ifndef CHECK_H
#define CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 99);                                         \
        }                                                                          \
    } while (0)

static int rank, size;

/* Between two looks at something that has not happened yet: without it, a record would be full of them. */
static inline int again(void) { return usleep(100) == 0; }

static inline void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}
#endif
