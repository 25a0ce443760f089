/* Twelve iterations, in the seventh of which rank 0 takes 150 ms more; two functions add through one wrapper.
 * The record: reports of parts of the run have what happened in them; the wrapper's calls are apart by their caller; with the argument
 * `quick`, advance() takes 50 ms less in each iteration, and nothing else changes. Each rank prints what it measured itself.
 * ranks: 2
 * args: slow
 */
#include "check.h"

static double advance_s;

static void work(int ms) { usleep(1000 * ms); }

static double add(double value) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /*site:allreduce*/
    return sum;
}

static double __attribute__((noinline)) advance(int iteration, int ms) {
    double begin = MPI_Wtime();
    work(ms + (rank == 0 && iteration == 6 ? 150 : 0));
    advance_s += MPI_Wtime() - begin;
    return 1 + add(1);
}

static double __attribute__((noinline)) control(void) {
    work(5);
    return 2 + add(1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int ms = strcmp(argv[1], "quick") ? 60 : 10;
    double total = 0;
    MPI_Barrier(MPI_COMM_WORLD); /*site:begin*/
    for (int iteration = 0; iteration < 12; iteration++) total += advance(iteration, ms) + control();
    MPI_Barrier(MPI_COMM_WORLD); /*site:end*/
    CHECK(total == 12 * (3 + 2 * size));
    if (rank == 0) printf("parts: ok\n");
    fprintf(stderr, "advance %.6f\n", advance_s);
    MPI_Finalize();
    return 0;
}
