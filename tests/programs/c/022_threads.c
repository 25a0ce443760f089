/* MPI_THREAD_MULTIPLE: a receive posted by one thread and completed by another, and four threads that talk at once.
 * The record: the Wait of one thread completes the Irecv of another; 4 x 20 messages each way from threads of their own.
 * ranks: 2
 * compile: -pthread
 */
#include "check.h"
#include <pthread.h>

static MPI_Request request;
static int late;

static void *post(void *unused) {
    MPI_Irecv(&late, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, &request); /*site:irecv*/
    return unused;
}

static void *complete(void *unused) {
    MPI_Status status;
    MPI_Wait(&request, &status); /*site:wait*/
    CHECK(status.MPI_TAG == 99 && late == 7);
    return unused;
}

static void *talk(void *number) {
    int tag = *(int *)number;
    for (int i = 0; i < 20; i++) {
        int value = i;
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD); /*site:send*/
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
        CHECK(value == i);
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, numbers[4] = {0, 1, 2, 3};
    pthread_t thread, threads[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(provided == MPI_THREAD_MULTIPLE);

    if (rank == 0) {
        pthread_create(&thread, NULL, post, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, complete, NULL);
        pthread_join(thread, NULL);
    } else {
        int value = 7;
        MPI_Send(&value, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, talk, &numbers[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (rank == 0) printf("threads: done\n");
    MPI_Finalize();
    return 0;
}
