/* A master (rank 0) and 4 workers with 60 tasks; a worker asks for its next task when it has finished one.
 * Problem: the master looks for requests (MPI_Iprobe) and sleeps 40 ms where there is none (wait_for_request), so a worker
 * waits for its next task, in MPI_Recv, until the master looks again.
 * fixed: the master waits for the next request in a blocking MPI_Probe. */
#include "twin.h"
#define TASKS 60

static int wait_for_request(void) {
    MPI_Status status;
    int found = 0;
    if (fixed) MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    else
        for (;;) {
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &status);
            if (found) break;
            usleep(40000); // PROBLEM
        }
    return status.MPI_SOURCE;
}

static double master(void) {
    double result, sum = 0;
    for (int next = 0, stopped = 0; stopped < size - 1; next++) {
        int worker = wait_for_request(), task = next < TASKS ? next : -1;
        MPI_Recv(&result, 1, MPI_DOUBLE, worker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += result;
        if (task < 0) stopped++;
        MPI_Send(&task, 1, MPI_INT, worker, 2, MPI_COMM_WORLD);
    }
    return sum;
}

static void worker(void) {
    double result = 0;
    for (;;) {
        int task;
        MPI_Send(&result, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task < 0) return;
        work(50 + task % 4 * 6);
        result = task;
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double sum = 0;
    if (rank == 0) sum = master();
    else worker();
    finish("polling_master %.0f", sum);
    return 0;
}
