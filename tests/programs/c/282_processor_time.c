/* A program whose computation is known: every rank computes for 20 us times the square of its size of processor time, however often it loses
 * its core, and writes to a file what it used. A second argument is its exit status.
 * The record: the computation without the time without a core is that of the file.
 * args: 20
 */
#include "check.h"
#include <time.h>

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = processor_time(), used = 0;
    while (used < 20e-6 * n * n) used = processor_time() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    char name[64];
    snprintf(name, sizeof name, "ledger-%d.%d", n, rank);
    FILE *ledger = fopen(name, "w");
    if (ledger) {
        fprintf(ledger, "%.9f\n", used);
        fclose(ledger);
    }
    if (rank == 0) printf("processor_time: ok\n");
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
