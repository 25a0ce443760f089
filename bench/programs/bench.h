/* What the programs share: clocks, and lines that the runner finds whatever else is written to standard output. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the nanoseconds per call in each batch: the least, the median and the mean. */
static void tell(const char *name, double *batches, int k)
{
    double sum = 0;
    qsort(batches, k, sizeof *batches, by_size);
    for (int i = 0; i < k; i++) sum += batches[i];
    printf("bench: case %s %.4f %.4f %.4f\n", name, batches[0], batches[k / 2], sum / k);
}

/* Which MPI library it is. */
static inline void tell_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    /* What follows the first line or comma is how it was built. */
    printf("bench: library %.*s\n", (int)strcspn(version, ",\n"), version);
}

static int argument(int argc, char **argv, int place, int usual)
{
    int given = argc > place ? atoi(argv[place]) : 0;
    return given > 0 ? given : usual;
}

/* Calls a function with its two arguments from this many functions below the caller. */
__attribute__((noinline, unused)) static void call_at_depth(int depth, void (*function)(int, int), int k, int n)
{
    if (depth > 0)
        call_at_depth(depth - 1, function, k, n);
    else
        function(k, n);
    /* Keeps the calls above from becoming jumps. */
    __asm__ volatile("" ::: "memory");
}

#endif
