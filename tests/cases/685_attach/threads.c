/* MPI_THREAD_MULTIPLE under a timer that interrupts: one thread is blocked in MPI_Recv, one spins in MPI_Test, one makes collectives and
   sends both what they wait for. What it prints depends on all messages. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, size, rounds;
static volatile sig_atomic_t alarms;
static long received, tested;

static void on_alarm(int number) { (void)number; alarms++; }

static void *receiver(void *unused)
{
    for (int round = 0; round < rounds; round++) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        received = received * 31 + value;
    }
    return unused;
}

static void *tester(void *unused)
{
    for (int round = 0; round < rounds; round++) {
        int value, done = 0;
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            sched_yield();
        }
        tested = tested * 37 + value;
    }
    return unused;
}

int main(int argc, char **argv)
{
    int given;
    pthread_t threads[2];
    struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    rounds = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    if (given != MPI_THREAD_MULTIPLE) { printf("no threads\n"); MPI_Finalize(); return 0; }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    pthread_create(&threads[0], NULL, receiver, NULL);
    pthread_create(&threads[1], NULL, tester, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    double sum = rank, all = 0;
    for (int round = 0; round < rounds; round++) {
        int value = 1000 * rank + round;
        usleep(5000);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, own);
        sum = 0.5 * all + value;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    long mine[2] = { received, tested }, every[64];
    MPI_Gather(mine, 2, MPI_LONG, every, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int r = 0; r < size; r++) printf("rank %d received %ld tested %ld\n", r, every[2 * r], every[2 * r + 1]);
        printf("sum %.6f, interrupted %s\n", sum, alarms > 10 ? "often" : "hardly");
    }
    MPI_Finalize();
    return 0;
}
