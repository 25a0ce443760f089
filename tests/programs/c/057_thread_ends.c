/* Threads that end inside a call: by pthread_exit in an error handler and in a reduction operator, cancelled in an attribute copy function
 * that sleeps, and cancelled while they wait in MPI_Recv. A thread that is to be cancelled calls MPI as long as nothing it calls itself is a
 * cancellation point, also where it computes for so long between its calls that the probe asks the kernel for counters.
 * The record: every call is there; those that a thread ended in are marked and last until then.
 * The ledger: function, calls entered, calls in which a thread ended, seconds in the latter at most.
 * MPI may be unusable after a cancellation, so the program leaves without MPI_Finalize; one rank, so that no other waits for it.
 * ranks: 1
 * compile: -pthread
 * status: 3
 */
#include "check.h"
#include "timing.h"
#include <pthread.h>

static double seconds, operator_seconds, copy_seconds;
static MPI_Op ending_op;

static void end_thread(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    pthread_exit(NULL);
}

static void *fail(void *unused) {
    int data = 0;
    MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    return unused;
}

static void end_in_operator(void *in, void *out, int *length, MPI_Datatype *type) {
    (void)in, (void)out, (void)length, (void)type;
    pthread_exit(NULL);
}

static void *reduce(void *unused) {
    int data = 0, sum = 0;
    MPI_Reduce_local(&data, &sum, 1, MPI_INT, ending_op);
    return unused;
}

static pthread_barrier_t both;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)state, (void)in, (void)out, (void)flag;
    pthread_barrier_wait(&both); /* to be cancelled in sleep */
    sleep(100);
    return MPI_SUCCESS;
}

static void *duplicate(void *unused) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    return unused;
}

/* Time of a thread that ends inside its call. */
static double run(void *(*start)(void *), int cancel) {
    pthread_t thread;
    double before = now();
    pthread_create(&thread, NULL, start, NULL);
    if (cancel) {
        pthread_barrier_wait(&both);
        usleep(10000);
        pthread_cancel(thread);
    }
    pthread_join(thread, NULL);
    return now() - before;
}

static void *go_on(void *unused) {
    int data = 0;
    pthread_barrier_wait(&both); /* to be cancelled from here on */
    pthread_barrier_wait(&both);
    for (int i = 0; i < 3; i++) MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 8; i++) {
        compute(0.002);
        MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
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
        seconds += run(fail, 0);
        usleep(2000);
    }
    MPI_Op_create(end_in_operator, 1, &ending_op);
    for (int i = 0; i < 3; i++) operator_seconds += run(reduce, 0);
    pthread_barrier_init(&both, NULL, 2);
    int key;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &data);
    copy_seconds = run(duplicate, 1);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
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
    fprintf(file, "MPI_Init_thread 1 0 0\nMPI_Ssend 11 0 0\nMPI_Send 5 5 %.9f\nMPI_Isend 1 0 0\nMPI_Wait 1 0 0\nMPI_Recv 2 1 %.9f\n", seconds, waited);
    fprintf(file, "MPI_Reduce_local 3 3 %.9f\nMPI_Comm_dup 1 1 %.9f\n", operator_seconds, copy_seconds);
    fclose(file);
    printf("leaving\n");
    exit(3);
}
