/* Time as programs with a ledger measure it. */
#ifndef TIMING_H
#define TIMING_H
#include <time.h>

static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Occupies the processor until the time is over: a thread that sleeps does not compute. */
static inline void compute(double seconds) {
    double end = now() + seconds;
    while (now() < end) {
    }
}
#endif
