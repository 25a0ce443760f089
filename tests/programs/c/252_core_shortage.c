/* Forty turns of computation, measured in processor time, each followed by an Allreduce. With the argument `uneven` rank 1 computes three
 * times as long as the others; with `rival` every rank has a child that computes all the time on the same processors. With any argument
 * every rank keeps a ledger of what the kernel counts: to the file `ledger.RANK` it writes the nanoseconds that it was ready to run and had
 * no processor (schedstat), and those that went by, from the end of MPI_Init to the begin of MPI_Finalize.
 * The report: the share of the time without a core, why, and no advice that would follow from it.
 * ranks: 2
 */
#define _GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static long long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long waiting(void) {
    long long waiting = -1;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%*d %lld", &waiting) != 1) waiting = -1;
    if (file) fclose(file);
    return waiting;
}

static void compute(double seconds) { /* of processor time: a disturbed segment takes longer */
    long long end = nanoseconds(CLOCK_THREAD_CPUTIME_ID) + (long long)(seconds * 1e9);
    while (nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) {
        }
}

static pid_t start_rival(void) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    return child;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "";
    long long waited = waiting(), began = nanoseconds(CLOCK_MONOTONIC);
    pid_t rival = strcmp(mode, "rival") == 0 ? start_rival() : 0;
    int sum = 0;
    for (int turn = 0; turn < 40; turn++) {
        compute(strcmp(mode, "uneven") == 0 && rank == 1 ? 0.03 : 0.01);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:meet*/
    }
    CHECK(sum == size * (size - 1) / 2);
    if (rival) {
        kill(rival, SIGKILL);
        waitpid(rival, NULL, 0);
    }
    if (argc > 1) {
        char name[32];
        snprintf(name, sizeof name, "ledger.%d", rank);
        FILE *file = fopen(name, "w");
        if (file) fprintf(file, "%lld %lld\n", waiting() - waited, nanoseconds(CLOCK_MONOTONIC) - began);
        CHECK(file && fclose(file) == 0);
    }
    if (rank == 0) printf("core_shortage: done\n");
    MPI_Finalize();
    return 0;
}
