// OpenMP regions with known imbalance. Each rank keeps a ledger with its own clock and prints it: for each function that has a region, the sums over
// its executions. Work is sleep: it takes as long on a busy machine.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, ROUNDS = 6 };

struct ledger {
    const char *name;
    int executions;
    double seconds, useful, longest, lock, held;
    double now_useful[8], now_lock[8], now_held[8], begin;
};

static double regions_s, mpi_s;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void pause_ms(double ms) {
    struct timespec t = {0, (long)(ms * 1e6)};
    nanosleep(&t, NULL);
}

/// Work of a thread, which is in its ledger.
static void work(struct ledger *l, int thread, double ms) {
    double begin = now();
    pause_ms(ms);
    l->now_useful[thread] += now() - begin;
}

static void begin(struct ledger *l) {
    for (int i = 0; i < 8; i++) l->now_useful[i] = l->now_lock[i] = l->now_held[i] = 0;
    l->begin = now();
}

static void end(struct ledger *l) {
    double s = now() - l->begin, longest = 0;
    for (int i = 0; i < THREADS; i++) {
        l->useful += l->now_useful[i];
        l->lock += l->now_lock[i];
        l->held += l->now_held[i];
        if (l->now_useful[i] > longest) longest = l->now_useful[i];
    }
    l->executions++;
    l->seconds += s;
    l->longest += longest;
    regions_s += s;
}

static void unequal(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    work(l, omp_get_thread_num(), omp_get_thread_num() ? 5 : 25);
}

static void equal(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    work(l, omp_get_thread_num(), 20);
}

static void barrier(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
        work(l, thread, thread ? 15 : 3);
#pragma omp barrier
        work(l, thread, thread ? 3 : 10);
    }
}

static void static_loop(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < 8; i++) work(l, omp_get_thread_num(), i < 4 ? 1 : 4);
        work(l, omp_get_thread_num(), 3);
    }
}

static void dynamic_loop(struct ledger *l) {
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 1)
    for (int i = 0; i < 8; i++) work(l, omp_get_thread_num(), i < 4 ? 1 : 4);
}

static void critical(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
        work(l, thread, 2);
        double asked = now();
#pragma omp critical(one_at_a_time)
        {
            double got = now();
            l->now_lock[thread] += got - asked;
            work(l, thread, 12);
            l->now_held[thread] += now() - got;
        }
    }
}

static void tasks(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp single
        for (int i = 0; i < 8; i++) {
#pragma omp task
            work(l, omp_get_thread_num(), 4);
        }
    }
}

static void nested(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(THREADS)
        {
            double begin = now();
            pause_ms(omp_get_thread_num() ? 4 : 16);
            if (!omp_get_thread_num()) l->now_useful[outer] += now() - begin;
        }
    }
}

/// A thread ends the process inside a region.
static void leave_early(struct ledger *l) {
#pragma omp parallel num_threads(THREADS)
    {
        work(l, omp_get_thread_num(), 30);
        if (omp_get_thread_num() == THREADS - 1) exit(3);
        pause_ms(2000);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double start = now();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
    static struct ledger ledgers[] = {{.name = "unequal"}, {.name = "equal"}, {.name = "barrier"}, {.name = "static_loop"}, {.name = "dynamic_loop"},
                                      {.name = "critical"}, {.name = "tasks"}, {.name = "nested"}, {.name = "leave_early"}};
    void (*functions[])(struct ledger *) = {unequal, equal, barrier, static_loop, dynamic_loop, critical, tasks, nested, leave_early};
    int count = sizeof functions / sizeof *functions;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count - 1; i++) {
            begin(&ledgers[i]);
            functions[i](&ledgers[i]);
            end(&ledgers[i]);
            pause_ms(2 + 2 * rank);
        }
    double before = now();
    MPI_Barrier(MPI_COMM_WORLD);
    mpi_s = now() - before;
    if (argc > 1 && !strcmp(argv[1], "exit")) leave_early(&ledgers[count - 1]);
    double serial_s = now() - start - regions_s - mpi_s;
    for (int i = 0; i < count - 1; i++) {
        struct ledger *l = &ledgers[i];
        printf("region %s %d %d %.9f %.9f %.9f %.9f %.9f\n", l->name, rank, l->executions, l->seconds, l->useful, l->longest, l->lock, l->held);
    }
    printf("serial %d %.9f\n", rank, serial_s);
    fflush(stdout);
    MPI_Finalize();
}
