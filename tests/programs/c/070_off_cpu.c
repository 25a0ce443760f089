/* Segments that compute and segments that sleep, each followed by an Allreduce. With an argument every rank keeps a ledger of what the
 * kernel counts: before and after each call it reads the time ready to run without a processor (schedstat), the processor time and the
 * elapsed time. It may lose its processor while it reads, and what came then belongs to the segment: so waiting has two bounds. At the
 * end there is one line per segment and call in the file `ledger.RANK`: segment or call, the least and the most waiting, blocked and
 * elapsed nanoseconds. With the argument `rival` the ranks share processors 0 and 1, each with a child that computes all the time.
 * The record: the same times waiting and blocked.
 * ranks: 2
 */
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define STEPS 60

struct times {
    long long waiting, cpu, elapsed;
};
struct reading {
    long long first_waiting;
    struct times last;
};

static int schedstat;
static struct {
    const char *what;
    struct reading before, after;
} ledger[4 * STEPS];
static int lines;

static long long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long waiting(void) {
    char text[100] = "";
    long long waiting = 0;
    if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%*d %lld", &waiting);
    return waiting;
}

static struct times times(void) {
    struct times now;
    do { /* until nothing came between the readings */
        now.waiting = waiting();
        now.cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
        now.elapsed = nanoseconds(CLOCK_MONOTONIC);
    } while (now.waiting != waiting());
    return now;
}

static struct reading look(void) {
    struct reading reading;
    reading.first_waiting = waiting(); /* at once: the next line may have to wait */
    reading.last = times();
    return reading;
}

static void enter(const char *what, struct reading before, struct reading after) {
    ledger[lines].what = what;
    ledger[lines].before = before;
    ledger[lines++].after = after;
}

static void compute(double seconds) { /* of processor time: a disturbed segment takes longer */
    long long end = nanoseconds(CLOCK_THREAD_CPUTIME_ID) + (long long)(seconds * 1e9);
    while (nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) {
        }
}

static pid_t start_rival(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(rank % 2, &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    return child;
}

static void write_line(FILE *file, struct reading *from, struct reading *to) {
    long long least = to->first_waiting - from->last.waiting, most = to->last.waiting - from->first_waiting;
    long long waiting = to->last.waiting - from->last.waiting, elapsed = to->last.elapsed - from->last.elapsed;
    long long blocked = elapsed - waiting - (to->last.cpu - from->last.cpu);
    fprintf(file, " %lld %lld %lld %lld\n", least, most, blocked, elapsed);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
    pid_t rival = argc > 1 && strcmp(argv[1], "rival") == 0 ? start_rival() : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    int sum;
    struct reading last = look();
    for (int step = 0; step < STEPS; step++) {
        compute(0.001 + 0.0005 * (step % 4));
        sched_yield(); /* a new time slice, so that no switch comes between the reading and the call */
        struct reading computed = look();
        enter("compute", last, computed);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:computed*/
        struct reading reduced = look();
        enter("call", computed, reduced);
        usleep(500 + 500 * (step % 3));
        sched_yield();
        struct reading slept = look();
        enter("sleep", reduced, slept);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:slept*/
        last = look();
        enter("call", slept, last);
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
        for (int i = 0; file && i < lines; i++) {
            fprintf(file, "%s", ledger[i].what);
            write_line(file, &ledger[i].before, &ledger[i].after);
        }
        CHECK(file && fclose(file) == 0);
    }
    if (rank == 0) printf("off_cpu: done\n");
    MPI_Finalize();
    return 0;
}
