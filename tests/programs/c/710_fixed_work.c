/* Two ranks compute the same fixed amount, exchange small messages, and agree on the result, forty times. The processor time of each
 * rank's computation is written to a file, if one is given: on one core they take twice as long, but not more processor time.
 * ranks: 2
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 40, MESSAGES = 10 };

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double compute(long steps) {
    double x = 1.0;
    for (long step = 0; step < steps; step++) x = x * 0.999999 + 1e-6 * (double)(step & 7);
    return x;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long steps = argc > 1 ? atol(argv[1]) : 1000000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double used = 0.0, sum = 0.0, value = 0.0;
    for (int turn = 0; turn < TURNS; turn++) {
        double before = processor_time();
        value += compute(steps);
        used += processor_time() - before;
        for (int message = 0; message < MESSAGES; message++) {
            if (rank == 0) {
                MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
            }
        }
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double all[2];
    MPI_Gather(&used, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("fixed work: %s\n", sum > 0.0 ? "done" : "wrong");
    FILE *ledger = rank == 0 && argc > 2 ? fopen(argv[2], "w") : NULL;
    if (ledger) {
        fprintf(ledger, "%.9f %.9f\n", all[0], all[1]);
        fclose(ledger);
    }
    MPI_Finalize();
    return 0;
}
