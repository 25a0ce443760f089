/* Functions that know how much processor time they took. Rank 0 computes longer, so that the others wait in MPI. */
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STENCIL, TRANSFORM, FILL, EXCHANGE, PARTS };
static const char *const names[PARTS] = {"apply_stencil", "transform", "fill", "exchange"};
static double taken[PARTS];
static volatile double sink;
static char buffer[1 << 20];
static int zeros;

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

__attribute__((noinline)) static void apply_stencil(long count) {
    for (long i = 0; i < count; i++)
        sink += i * 0.5;
}

__attribute__((noinline)) static void smooth(long count) {
    apply_stencil(count);
    sink += 1;
}

__attribute__((noinline)) static void transform(long count) {
    for (long i = 0; i < count; i++)
        sink += lgamma(2.5 + i % 7);
    sink += 1;
}

__attribute__((noinline)) static void fill(int count) {
    for (int i = 0; i < count; i++)
        sink += read(zeros, buffer, sizeof buffer);
    sink += 1;
}

__attribute__((noinline)) static void exchange(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    sink += 1;
}

/* Adds the time since `from` to a part, and returns the time now. */
static double add(int part, double from) {
    double now = processor_time();
    taken[part] += now - from;
    return now;
}

__attribute__((noinline)) static void step(int rank) {
    double now = processor_time();
    smooth(rank == 0 ? 8000000 : 4000000);
    now = add(STENCIL, now);
    transform(200000);
    now = add(TRANSFORM, now);
    fill(120);
    now = add(FILL, now);
    exchange();
    add(EXCHANGE, now);
}

int main(int argc, char **argv) {
    int rank, steps = argc > 1 ? atoi(argv[1]) : 30;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    zeros = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < steps; i++)
        step(rank);
    double all = 0;
    for (int part = 0; part < PARTS; part++)
        all += taken[part];
    for (int part = 0; part < PARTS; part++)
        printf("rank %d %s %.4f\n", rank, names[part], taken[part] / all);
    MPI_Finalize();
    return 0;
}
