/* A master prepares each task for 10 ms only when a worker asks for it; three workers need 10 ms for a task and mostly wait.
 * The report: serialised_master, of the work before the master's Send (site:give).
 * ranks: 4
 */
#include "waits.h"

enum { TASKS = 20, WORKERS = 3 };

static void master(void) {
    int task;
    MPI_Status status;
    for (int i = 0; i < WORKERS * TASKS; i++) {
        MPI_Recv(&task, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        work(0.01);
        MPI_Send(&i, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD); /*site:give*/
    }
}

static void worker(void) {
    int task = 0;
    for (int i = 0; i < TASKS; i++) {
        MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(0.01);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (rank == 0) master();
    else worker();
    if (rank == 0) printf("serialised master: done\n");
    finish();
    return 0;
}
