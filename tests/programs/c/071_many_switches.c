/* Two threads pass a byte back and forth on one processor, so that a segment has more context switches than anybody wants to keep; then the
 * same inside of MPI_Pcontrol(0), and in a child. With an argument rank 0 writes the time it was off the processor in the two segments
 * that are recorded to the file `ledger.0`.
 * The record: that time, before the Barriers; nothing of the rest.
 * ranks: 2
 */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS 5000

static int there[2], back[2];

static long long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *answer(void *unused) {
    char byte;
    for (int i = 0; i < ROUNDS; i++) CHECK(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
    return unused;
}

/* The time off the processor. */
static long long pass_bytes(void) {
    long long off = -nanoseconds(CLOCK_MONOTONIC) + nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    pthread_t other;
    char byte = 0;
    CHECK(pthread_create(&other, NULL, answer, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) CHECK(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
    pthread_join(other, NULL);
    return off + nanoseconds(CLOCK_MONOTONIC) - nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    long long off = pass_bytes();
    MPI_Barrier(MPI_COMM_WORLD); /*site:passed*/
    MPI_Pcontrol(0);
    pass_bytes();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_WORLD);
    off += pass_bytes();
    MPI_Barrier(MPI_COMM_WORLD); /*site:again*/
    pid_t child = fork();
    if (child == 0) {
        pass_bytes();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    if (argc > 1 && rank == 0) {
        FILE *file = fopen("ledger.0", "w");
        CHECK(file && fprintf(file, "%lld\n", off) > 0 && fclose(file) == 0);
    }
    if (rank == 0) printf("many_switches: done\n");
    MPI_Finalize();
    return 0;
}
