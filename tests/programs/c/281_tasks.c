/* A master that hands out as many tasks as it is told, one at a time, to whoever is free.
 * The record: each task is found with what it took to compute and to communicate; more workers make it faster.
 * ranks: 3
 * args: 12
 */
#include "check.h"

enum { WORK = 1, RESULT = 2, STOP = 3 };

static void master(int tasks) {
    int next = 0, result;
    for (int worker = 1; worker < size; worker++, next++)
        MPI_Send(&next, 1, MPI_INT, worker, next < tasks ? WORK : STOP, MPI_COMM_WORLD); /*site:first*/
    for (int done = 0; done < tasks; done++, next++) {
        MPI_Status status;
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status); /*site:results*/
        MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, next < tasks ? WORK : STOP, MPI_COMM_WORLD); /*site:more*/
    }
}

static void worker(void) {
    for (;;) {
        int task;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /*site:work*/
        if (status.MPI_TAG == STOP) return;
        usleep(4000);
        MPI_Send(&task, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD); /*site:done*/
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    rank == 0 ? master(argc > 1 ? atoi(argv[1]) : 12) : worker();
    if (rank == 0) printf("tasks: ok\n");
    MPI_Finalize();
    return 0;
}
