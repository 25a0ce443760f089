/* What the kernel counts for the calling thread, computation measured in processor time, and a rival for its processor. Needs _GNU_SOURCE. */
#ifndef OFF_CPU_H
#define OFF_CPU_H
#include "check.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static inline long long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Nanoseconds ready to run without a processor. The file is that of the first thread that calls this. */
static inline long long waiting(void) {
    static int schedstat = -1;
    char text[100] = "";
    long long waiting = 0;
    if (schedstat < 0) schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
    if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%*d %lld", &waiting);
    return waiting;
}

static inline void compute(double seconds) { /* of processor time: a disturbed segment takes longer */
    long long end = nanoseconds(CLOCK_THREAD_CPUTIME_ID) + (long long)(seconds * 1e9);
    while (nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) {
        }
}

/* Ranks 0 and 1 may then run on one processor each. */
static inline void bind_to_own_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(rank % 2, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* A child that computes all the time on the same processors. */
static inline pid_t start_rival(void) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    return child;
}

static inline void stop_rival(pid_t rival) {
    if (rival > 0) {
        kill(rival, SIGKILL);
        waitpid(rival, NULL, 0);
    }
}

/* The file `ledger.RANK`. */
static inline FILE *open_ledger(void) {
    char name[32];
    snprintf(name, sizeof name, "ledger.%d", rank);
    return fopen(name, "w");
}
#endif
