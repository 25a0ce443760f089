/* What all C programs of this folder share: start, work, end. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size, fixed; /* fixed: run without the problem */
static double start_time;

/* Stands for a computation of so many milliseconds; needs no processor, so more ranks than cores can run. */
static inline void work(double ms) {
    struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    nanosleep(&t, NULL);
}

static inline void start(int *argc, char ***argv) {
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fixed = *argc > 1 && !strcmp((*argv)[1], "fixed");
    start_time = MPI_Wtime();
}

/* Prints the result on rank 0 and, where TWIN_TIME is set, the elapsed time of the slowest rank. */
static inline void finish(const char *format, ...) {
    double elapsed = MPI_Wtime() - start_time, longest;
    va_list list;
    va_start(list, format);
    if (rank == 0) {
        vprintf(format, list);
        printf("\n");
    }
    va_end(list);
    if (getenv("TWIN_TIME")) {
        MPI_Reduce(&elapsed, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) fprintf(stderr, "TIME %.3f\n", longest);
    }
    MPI_Finalize();
}
