/* A thread that never calls MPI computes; the one that does waits for it. */
#include <mpi.h>
#include <pthread.h>
#include <time.h>

static volatile double sink;

__attribute__((noinline)) void worker_loop(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 100000; i++) sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec - begin.tv_sec + 1e-9 * (now.tv_nsec - begin.tv_nsec) < seconds);
}

static void *work(void *argument) {
    worker_loop(1.5);
    return argument;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
