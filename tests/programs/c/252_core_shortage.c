/* Forty turns of computation, measured in processor time, each followed by an Allreduce. With the argument `uneven` rank 1 computes three
 * times as long as the others; with `rival` every rank has a child that computes all the time on the same processors; with `rival_of_1`
 * each rank has a processor of its own, and only rank 1 such a child. With any argument every rank keeps a ledger of what the kernel counts:
 * to the file `ledger.RANK` it writes the nanoseconds that it was ready to run and had no processor (schedstat), and those that went by,
 * from the end of MPI_Init to the begin of MPI_Finalize.
 * The report: the share of the time without a core, why, and no advice that would follow from it.
 * ranks: 2
 */
#define _GNU_SOURCE
#include "off_cpu.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "";
    long long waited = waiting(), began = nanoseconds(CLOCK_MONOTONIC);
    int only_1 = strcmp(mode, "rival_of_1") == 0;
    if (only_1) bind_to_own_processor();
    pid_t rival = strcmp(mode, "rival") == 0 || (only_1 && rank == 1) ? start_rival() : 0;
    int sum = 0;
    for (int turn = 0; turn < 40; turn++) {
        compute(strcmp(mode, "uneven") == 0 && rank == 1 ? 0.03 : 0.01);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:meet*/
    }
    CHECK(sum == size * (size - 1) / 2);
    stop_rival(rival);
    if (argc > 1) {
        FILE *file = open_ledger();
        if (file) fprintf(file, "%lld %lld\n", waiting() - waited, nanoseconds(CLOCK_MONOTONIC) - began);
        CHECK(file && fclose(file) == 0);
    }
    if (rank == 0) printf("core_shortage: done\n");
    MPI_Finalize();
    return 0;
}
