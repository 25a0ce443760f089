/* A farm in the style of a textbook: a master, workers, and one variable for the tasks of a piece. It keeps a ledger of every piece, and
 * its result is the same, bit by bit, however the tasks are cut. Arguments: LEDGER ROUNDS TASKS CHUNK, `even`, `uneven` (the last third of
 * the tasks takes four times as long) or `slow` (worker 1 takes three times as long), `give` or `ask` (workers ask for each piece),
 * microseconds of a task, number of workers. A task waits instead of computing: there are fewer processors than workers.
 * The record: a master and its workers, however many pieces there are.
 * ranks: 4
 * args: /dev/null 3 60 10
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORK = 1, RESULT = 2, STOP = 3, ASK = 4 };

static int chunk = 1;   /* tasks of the next piece */
static int ntasks;      /* tasks of a round */
static int nworkers;    /* workers that get pieces */
static int next;        /* first task that nobody has yet */
static double *result;
static FILE *ledger;
static int asks, uneven, slow, microseconds;

/* Sends the next piece to a worker. */
__attribute__((noinline)) static void give(int round, int worker)
{
    int piece[2] = { next, chunk };
    if (piece[1] > ntasks - next) piece[1] = ntasks - next;
    fprintf(ledger, "piece %d %d %d %d\n", round, worker, piece[0], piece[1]);
    MPI_Send(piece, 2, MPI_INT, worker, WORK, MPI_COMM_WORLD);
    next += piece[1];
}

/* Receives the results of a piece; the worker that sent them. */
static int take(double *buffer)
{
    MPI_Status status;
    MPI_Recv(buffer, ntasks + 1, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    memcpy(result + (int)buffer[0], buffer + 1, (size_t)(count - 1) * sizeof *buffer);
    return status.MPI_SOURCE;
}

static void master(int rounds)
{
    double *buffer = malloc((size_t)(ntasks + 1) * sizeof *buffer);
    for (int round = 0; round < rounds; round++) {
        double begin = MPI_Wtime();
        int busy = 0;
        next = 0;
        for (int worker = 1; worker <= nworkers && next < ntasks; worker++) {
            /* In their order: a worker that asks twice before another one asks would be served twice. */
            if (asks) MPI_Recv(NULL, 0, MPI_INT, worker, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            give(round, worker);
            busy++;
        }
        while (busy > 0) {
            int worker = take(buffer);
            if (asks) MPI_Recv(NULL, 0, MPI_INT, worker, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (next < ntasks) give(round, worker);
            else if (asks) MPI_Send(NULL, 0, MPI_INT, worker, STOP, MPI_COMM_WORLD), busy--;
            else busy--;
        }
        fprintf(ledger, "round %d %.9f\n", round, MPI_Wtime() - begin);
    }
    free(buffer);
}

static double compute(int task)
{
    double value = task + 0.5;
    for (int i = 0; i < 20; i++) value = value * 0.75 + 1.0 / (value + i);
    return value;
}

/* Waits as long as these tasks take. */
static void spend(int first, int count, int rank)
{
    double us = 0;
    for (int task = first; task < first + count; task++) us += microseconds * (uneven && 3 * task > 2 * ntasks ? 4.0 : 1.0);
    if (slow && rank == 1) us *= 3;
    struct timespec time = { (time_t)(us / 1e6), (long)(us * 1e3) % 1000000000L };
    nanosleep(&time, NULL);
}

static void worker(int rank, int rounds)
{
    double *buffer = malloc((size_t)(ntasks + 1) * sizeof *buffer);
    for (int stops = 0; stops < (asks ? rounds : 1);) {
        int piece[2];
        MPI_Status status;
        if (asks) MPI_Send(NULL, 0, MPI_INT, 0, ASK, MPI_COMM_WORLD);
        MPI_Recv(piece, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) {
            stops++;
            continue;
        }
        spend(piece[0], piece[1], rank);
        buffer[0] = piece[0];
        for (int i = 0; i < piece[1]; i++) buffer[i + 1] = compute(piece[0] + i);
        MPI_Send(buffer, piece[1] + 1, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    ntasks = argc > 3 ? atoi(argv[3]) : 1000;
    chunk = argc > 4 ? atoi(argv[4]) : 100;
    uneven = argc > 5 && !strcmp(argv[5], "uneven");
    slow = argc > 5 && !strcmp(argv[5], "slow");
    asks = argc > 6 && !strcmp(argv[6], "ask");
    microseconds = argc > 7 ? atoi(argv[7]) : 20;
    nworkers = argc > 8 ? atoi(argv[8]) : size - 1;
    if (rank == 0) {
        result = calloc((size_t)ntasks, sizeof *result);
        ledger = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
        if (!result || !ledger) MPI_Abort(MPI_COMM_WORLD, 1);
        master(rounds);
        if (!asks) for (int i = 1; i < size; i++) MPI_Send(NULL, 0, MPI_INT, i, STOP, MPI_COMM_WORLD);
        fclose(ledger);
        double sum = 0;
        for (int i = 0; i < ntasks; i++) sum = sum * 0.999 + result[i];
        printf("%.17g\n", sum);
    } else {
        worker(rank, rounds);
    }
    MPI_Finalize();
    return 0;
}
