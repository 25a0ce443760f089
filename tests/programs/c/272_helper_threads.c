/* The main thread of each rank computes. Each has a helper: that of rank 0 polls for a message all the time, that of rank 1 blocks in
 * one receive. The report: the two helpers only communicate, and the parallel efficiency without them.
 * ranks: 2
 * compile: -pthread
 */
#include "check.h"
#include <pthread.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void *help(void *unused) {
    int there = rank == 1, value;
    while (!there) MPI_Iprobe(rank, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    pthread_create(&thread, NULL, help, NULL);
    for (double end = now() + 0.3; now() < end;) {
    }
    MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
