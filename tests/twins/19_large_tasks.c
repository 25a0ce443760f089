/* A task farm on 5 ranks, of which rank 0 hands out the tasks; the whole job is 600 units of work.
 * Problem: the job is cut into 5 tasks for 4 workers (units_per_task), so one worker has two tasks and the other three
 * are idle while it computes the second one.
 * fixed: 30 tasks, each a sixth as large. */
#include "twin.h"
#define UNITS 600

static double compute(int first, int n) {
    double sum = 0;
    work(6.0 * n);
    for (int i = 0; i < n; i++) sum += first + i;
    return sum;
}

static double master(int units_per_task) {
    double part, sum = 0;
    MPI_Status status;
    for (int next = 0, stopped = 0; stopped < size - 1; next += units_per_task) {
        int first = next < UNITS ? next : -1;
        MPI_Recv(&part, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        sum += part;
        if (first < 0) stopped++;
        MPI_Send(&first, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
    return sum;
}

static void worker(int units_per_task) {
    double part = 0;
    for (;;) {
        int first;
        MPI_Send(&part, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&first, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (first < 0) return;
        part = compute(first, units_per_task);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int units_per_task = fixed ? UNITS / 30 : UNITS / 5; // PROBLEM
    double sum = 0;
    if (rank == 0) sum = master(units_per_task);
    else worker(units_per_task);
    finish("large_tasks %.0f", sum);
    return 0;
}
