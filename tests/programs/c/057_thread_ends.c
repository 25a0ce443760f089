/* Threads that end inside a call: by pthread_exit in an error handler, and cancelled while they wait in MPI_Recv. A thread that is to be
 * cancelled calls MPI as long as nothing it calls itself is a cancellation point.
 * The record: every call is there; those that a thread ended in are marked and last until then.
 * The ledger: function, calls entered, calls in which a thread ended, seconds in the latter at most.
 * MPI may be unusable after a cancellation, so the program leaves without MPI_Finalize; one rank, so that no other waits for it.
 * ranks: 1
 * compile: -pthread
 * status: 3
 */
#include "check.h"
#include <pthread.h>
#include <time.h>

static double seconds;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void end_thread(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    pthread_exit(NULL);
}

static void *fail(void *unused) {
    int data = 0;
    MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    return unused;
}

static pthread_barrier_t both;

static void *go_on(void *unused) {
    int data = 0;
    pthread_barrier_wait(&both); /* to be cancelled from here on */
    pthread_barrier_wait(&both);
    for (int i = 0; i < 3; i++) MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    pthread_testcancel();
    printf("not cancelled\n");
    return unused;
}

static void *wait_forever(void *unused) {
    int data = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    int provided, data = 0, received;
    pthread_t thread;
    MPI_Errhandler ending;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_create_errhandler(end_thread, &ending);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, ending);
    for (int i = 0; i < 5; i++) {
        double before = now();
        pthread_create(&thread, NULL, fail, NULL);
        pthread_join(thread, NULL);
        seconds += now() - before;
        usleep(2000);
    }
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, go_on, NULL);
    pthread_barrier_wait(&both);
    pthread_cancel(thread);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);

    MPI_Request request;
    MPI_Isend(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Recv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    double before = now();
    pthread_create(&thread, NULL, wait_forever, NULL);
    usleep(50000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    double waited = now() - before;
    usleep(300000);
    FILE *file = fopen("ledger.0", "w");
    fprintf(file, "MPI_Init_thread 1 0 0\nMPI_Ssend 3 0 0\nMPI_Send 5 5 %.9f\nMPI_Isend 1 0 0\nMPI_Wait 1 0 0\nMPI_Recv 2 1 %.9f\n", seconds, waited);
    fclose(file);
    printf("leaving\n");
    exit(3);
}
