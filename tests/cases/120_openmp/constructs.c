// Every construct of OpenMP that has a function in the runtime; prints results, no times.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fibonacci(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) if (n > 8)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long sum = 0, order = 0, locked[4] = {0}, tasked = 0;
    int copied[4] = {0}, sections[3] = {0};
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    omp_set_max_active_levels(2);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
#pragma omp parallel for schedule(static) ordered
        for (int i = 0; i < 8; i++) {
#pragma omp ordered
            order = order * 3 % 1000003 + i;
        }
#pragma omp parallel sections
        {
#pragma omp section
            sections[0]++;
#pragma omp section
            sections[1]++;
#pragma omp section
            sections[2]++;
        }
#pragma omp parallel num_threads(4)
        {
            int value;
#pragma omp single copyprivate(value)
            value = round + 7;
            copied[omp_get_thread_num()] += value;
#pragma omp critical
            locked[0]++;
#pragma omp critical(named)
            locked[1]++;
            omp_set_lock(&lock);
            locked[2]++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            locked[3]++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
#pragma omp barrier
            long inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
            inner += omp_get_level();
#pragma omp atomic
            tasked += inner;
        }
#pragma omp parallel
#pragma omp single
        {
            long chained = 0;
#pragma omp task depend(out : chained) shared(chained)
            chained = 5;
#pragma omp task depend(in : chained) shared(chained)
            {
#pragma omp atomic
                tasked += chained;
            }
#pragma omp taskgroup
            {
                char big[500];
                for (int i = 0; i < 500; i++) big[i] = (char)i;
#pragma omp task firstprivate(big)
                {
                    long add = 0;
                    for (int i = 0; i < 500; i++) add += big[i];
#pragma omp atomic
                    tasked += add;
                }
            }
#pragma omp taskloop grainsize(3)
            for (int i = 0; i < 50; i++) {
#pragma omp atomic
                tasked += i;
            }
#pragma omp taskwait
        }
        long reduced = 0;
#pragma omp parallel reduction(task, + : reduced)
        {
#pragma omp single
            for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : reduced)
                reduced += i;
            }
        }
        tasked += reduced;
        // An orphaned construct, outside any region.
#pragma omp task
        tasked++;
#pragma omp barrier
    }
    long fib = 0;
#pragma omp parallel
#pragma omp single
    fib = fibonacci(16);
    int found = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            if (i == 500) {
#pragma omp atomic write
                found = 1;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
#pragma omp barrier
    }
    long all;
    MPI_Allreduce(&tasked, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!rank)
        printf("%ld %ld %ld %ld %ld %ld %ld %ld %d %d %d %d %d %d %ld %d\n", sum, order, locked[0], locked[1], locked[2], locked[3], tasked, all, copied[0], copied[1],
               copied[2], copied[3], sections[0], sections[2], fib, found);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
