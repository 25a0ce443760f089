/* In each iteration, a rank writes some blocks, computes, sleeps and meets the others. Each prints, by iteration, the bytes it wrote, the seconds
 * in its writes and its processor time. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ITERATIONS = 12, BLOCK = 1 << 20 };

static char block[BLOCK];

static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double write_blocks(int file, int blocks) {
    double seconds = 0;
    for (int i = 0; i < blocks; i++) {
        double begin = read_clock(CLOCK_MONOTONIC);
        if (write(file, block, BLOCK) != BLOCK)
            exit(1);
        seconds += read_clock(CLOCK_MONOTONIC) - begin;
    }
    return seconds;
}

static double compute(double seconds) {
    double sum = 0;
    for (double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds; read_clock(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 1; i < 1000; i++)
            sum += 1.0 / i;
    return sum;
}

int main(int argc, char **argv) {
    double written_s[ITERATIONS], processor_s[ITERATIONS], sum = 0, all;
    char name[32];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "blocks.%d", rank);
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    memset(block, 'x', BLOCK);
    MPI_Barrier(MPI_COMM_WORLD);
    double before = read_clock(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < ITERATIONS; i++) {
        written_s[i] = write_blocks(file, 1 + i % 3 + rank);
        sum += compute(0.02);
        usleep(10000);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double now = read_clock(CLOCK_THREAD_CPUTIME_ID);
        processor_s[i] = now - before;
        before = now;
    }
    close(file);
    for (int i = 0; i < ITERATIONS; i++)
        printf("ledger %d %d %d %.9f %.9f\n", rank, i, BLOCK * (1 + i % 3 + rank), written_s[i], processor_s[i]);
    MPI_Finalize();
    return all < 0;
}
