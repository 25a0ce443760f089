/* Helpers that are created again for each step, one after the other: they get the same number. Each computes between two calls. The main
 * thread waits for it, then computes twice as long by itself, while there is no helper.
 * Each rank prints what its helpers did in all: `ledger RANK 1 MPI OUTSIDE`, in ns, from the first call of each to its last.
 * The report has the same times for thread 1.
 * ranks: 2
 * compile: -pthread
 */
#include "check.h"
#include "timing.h"
#include <pthread.h>

enum { STEPS = 10 };

static double in_mpi, outside;

static void *help(void *step) {
    int value, partner = 1 - rank;
    double begin = now();
    MPI_Sendrecv(step, 1, MPI_INT, partner, 0, &value, 1, MPI_INT, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double computing = now();
    compute(0.02);
    double enter = now();
    MPI_Sendrecv(step, 1, MPI_INT, partner, 0, &value, 1, MPI_INT, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in_mpi += computing - begin + now() - enter;
    outside += enter - computing;
    CHECK(value == *(int *)step);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < STEPS; step++) {
        pthread_t helper;
        pthread_create(&helper, NULL, help, &step);
        pthread_join(helper, NULL);
        compute(0.05);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "ledger %d 1 %.0f %.0f\n", rank, 1e9 * in_mpi, 1e9 * outside);
    if (rank == 0) printf("thread lives: done\n");
    MPI_Finalize();
    return 0;
}
