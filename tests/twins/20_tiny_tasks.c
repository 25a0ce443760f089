/* A master (rank 0) hands out 600000 units of work to one worker, which computes for less than a microsecond per unit.
 * Problem: each task is one unit (units_per_task), so a request and an answer are exchanged per unit, and the worker waits
 * in MPI_Recv longer than it computes.
 * fixed: 1000 units per task. */
#include "twin.h"
#define UNITS 600000

static double compute(int first, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        volatile double x = first + i;
        for (int k = 0; k < 200; k++) x = x + 1;
        sum += x;
    }
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
    int units_per_task = fixed ? 1000 : 1; // PROBLEM
    double sum = 0;
    if (rank == 0) sum = master(units_per_task);
    else worker(units_per_task);
    finish("tiny_tasks %.0f", sum);
    return 0;
}
