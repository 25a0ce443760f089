/* MPI called from threads that have little stack, many of them one after the other.
 * The record: 50 threads of rank 0, each with one Allreduce on MPI_COMM_SELF.
 * ranks: 1
 * compile: -pthread
 */
#include "check.h"
#include <pthread.h>

static void *work(void *total) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); /*site:allreduce*/
    *(int *)total += sum;
    return NULL;
}

int main(int argc, char **argv) {
    int provided, total = 0;
    pthread_t thread;
    pthread_attr_t little;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    pthread_attr_init(&little);
    pthread_attr_setstacksize(&little, 128 * 1024);
    for (int i = 0; i < 50; i++) {
        if (pthread_create(&thread, &little, work, &total) != 0) return 1;
        pthread_join(thread, NULL);
    }
    printf("small stacks: %d\n", total);
    MPI_Finalize();
    return 0;
}
