/* Two threads of rank 1 are each in a Recv 80 ms before rank 0 sends to them, eight times.
 * The report: late_sender on rank 1, at the Recv (site:recv), of both threads together.
 * ranks: 2
 * compile: -pthread
 */
#include "waits.h"
#include <pthread.h>

static void *receive(void *number) {
    int tag = *(int *)number, value;
    for (turn = 0; turn < TURNS; turn++) {
        entering(tag);
        MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:recv*/
        left(tag);
        CHECK(value == turn);
    }
    return NULL;
}

static void send(void) {
    for (turn = 0; turn < TURNS; turn++) {
        nap(0.08);
        for (int tag = 0; tag < 2; tag++) {
            entering(tag);
            MPI_Send(&turn, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    int provided, tags[2] = {0, 1};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    open_board();
    if (rank == 0) {
        send();
    } else {
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, receive, &tags[i]);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    }
    meet();
    if (rank == 0) injected("late_sender", "recv", waited(0, 1, 0) + waited(1, 1, 0));
    finish();
    return 0;
}
