/* A master that hands out work to whoever is free, and workers that ask nobody else; each has its own broadcast.
 * The record: two roles; the two broadcasts are one operation; every message finds its other end.
 * ranks: 4
 */
#include "check.h"

enum { TASKS = 40, WORK = 1, RESULT = 2, STOP = 3 };

static void master(void) {
    int tasks = TASKS, next = 0, result;
    MPI_Bcast(&tasks, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:master-bcast*/
    for (int worker = 1; worker < size; worker++, next++)
        MPI_Send(&next, 1, MPI_INT, worker, WORK, MPI_COMM_WORLD); /*site:first*/
    for (int done = 0; done < tasks; done++) {
        MPI_Status status;
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status); /*site:results*/
        if (next < tasks)
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, WORK, MPI_COMM_WORLD); /*site:more*/
        else
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, STOP, MPI_COMM_WORLD); /*site:stop*/
        next++;
    }
}

static void worker(void) {
    int tasks, task;
    MPI_Bcast(&tasks, 1, MPI_INT, 0, MPI_COMM_WORLD); /*site:worker-bcast*/
    CHECK(tasks == TASKS);
    for (;;) {
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /*site:work*/
        if (status.MPI_TAG == STOP) break;
        usleep(500);
        MPI_Send(&task, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD); /*site:done*/
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    rank == 0 ? master() : worker();
    if (rank == 0) printf("farm: ok\n");
    MPI_Finalize();
    return 0;
}
