/* What `plate.sin` beside this was recorded from: a warm plate, cut into halves, one for each of two ranks with four OpenMP threads each. The rows of the
 * last thread cost twice as much, and rank 1 has more to do outside regions. The pictures of functions and threads on the page
 * (`crates/view/web/test/pictures`) show that recording; it needs to be made again only when the format changes:
 *
 *     mpicc -g -O1 -fopenmp -ffile-prefix-map=$PWD=/home/ada/plate plate.c -o plate -lm
 *     export OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive
 *     sintonia record --sample 1999 --off-cpu off --counters off --io off -o plate.sin -- mpirun -n 2 ./plate
 *
 * and then, in recording.json and stacks.json, the names of the machine and of the program's folder are replaced by `node` and /home/ada/plate, and what
 * is known of the host and of missing cores is removed.
 */
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { ROWS = 8, COLUMNS = 256, STEPS = 10 };

static double plate[ROWS + 2][COLUMNS], next[ROWS + 2][COLUMNS];

/* Asleep for the most part, so that the picture does not depend on how many cores there are. */
static void rest(double seconds) {
    struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static double conductivity(double heat) {
    double sum = 0;
    for (int term = 1; term <= 300; term++) sum += exp(-heat / term) / term;
    return sum;
}

__attribute__((noinline)) static double smooth_row(int row) {
    double change = 0;
    for (int i = 1; i < COLUMNS - 1; i++) {
        double mean = 0.25 * (plate[row - 1][i] + plate[row + 1][i] + plate[row][i - 1] + plate[row][i + 1]);
        next[row][i] = plate[row][i] + 0.1 * conductivity(plate[row][i]) * (mean - plate[row][i]);
        change += fabs(next[row][i] - plate[row][i]);
    }
    rest(0.002);
    return change;
}

__attribute__((noinline)) static double relax(void) {
    double change = 0;
#pragma omp parallel for schedule(static) reduction(+ : change)
    for (int row = 1; row <= ROWS; row++) {
        change += smooth_row(row);
        if (row > ROWS - 2) change += smooth_row(row);
    }
    return change;
}

__attribute__((noinline)) static void sum_up(double *total) {
#pragma omp parallel
    {
        double own = 0;
        for (int row = 1 + omp_get_thread_num(); row <= ROWS; row += omp_get_num_threads())
            for (int i = 0; i < COLUMNS; i++) own += sqrt(1 + plate[row][i] * plate[row][i]);
#pragma omp critical
        {
            *total += own;
            rest(0.001);
        }
    }
}

__attribute__((noinline)) static void heat_up(int times) {
    for (int time = 0; time < times; time++)
        for (int i = 0; i < COLUMNS; i++) plate[ROWS / 2][i] += 0.001 * conductivity(i);
    rest(0.001 * times);
}

__attribute__((noinline)) static void exchange(int other) {
    int mine = other == 1 ? ROWS : 1, theirs = other == 1 ? ROWS + 1 : 0;
    MPI_Sendrecv(plate[mine], COLUMNS, MPI_DOUBLE, other, 0, plate[theirs], COLUMNS, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static double step(int rank) {
    double total = 0, change;
    exchange(1 - rank);
    heat_up(rank == 1 ? 4 : 1);
    change = relax();
    sum_up(&total);
    for (int row = 1; row <= ROWS; row++)
        for (int i = 0; i < COLUMNS; i++) plate[row][i] = next[row][i];
    return total + change;
}

int main(int argc, char **argv) {
    int rank, level;
    double own = 0, all = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int at = 0; at < STEPS; at++) {
        own += step(rank);
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("heat %g\n", all);
    MPI_Finalize();
    return 0;
}
