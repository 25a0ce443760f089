/* What samples could disturb: timers and signals of the program's own, system calls that end early, threads that come and go, blocked
 * signals, fork and vfork. Prints the same with and without them. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static volatile sig_atomic_t own_signals;

static void spin(int milliseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 1000; i++) sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < milliseconds);
}

static void *short_thread(void *argument) {
    spin(1);
    return argument;
}

static void *leaving_thread(void *argument) {
    pthread_exit(argument);
}

static void *blocked_thread(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    spin(50);
    return argument;
}

static void on_signal(int number) {
    (void)number;
    own_signals++;
}

/* System calls that end with EINTR when a signal is handled, even with SA_RESTART. */
static int interrupted_calls(void) {
    int interrupted = 0;
    for (int i = 0; i < 200; i++) {
        struct timespec pause = {0, 500000};
        struct timeval wait = {0, 500};
        spin(1);
        if (nanosleep(&pause, NULL) != 0 && errno == EINTR) interrupted++;
        if (poll(NULL, 0, 1) < 0 && errno == EINTR) interrupted++;
        if (select(0, NULL, NULL, NULL, &wait) < 0 && errno == EINTR) interrupted++;
    }
    return interrupted;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, status, ended = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int interrupted = interrupted_calls();
    for (int i = 0; i < 100; i++) {
        pthread_t threads[3];
        void *result;
        pthread_create(&threads[0], NULL, short_thread, threads);
        pthread_create(&threads[1], NULL, leaving_thread, threads);
        pthread_create(&threads[2], NULL, i ? short_thread : blocked_thread, threads);
        for (int t = 0; t < 3; t++) {
            pthread_join(threads[t], &result);
            ended += result == threads;
        }
    }
    pid_t child = fork();
    if (child == 0) {
        spin(50);
        _exit(7);
    }
    waitpid(child, &status, 0);
    int forked = WEXITSTATUS(status);
    child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    struct sigaction before, action;
    sigaction(SIGPROF, NULL, &before);
    int was_free = before.sa_handler == SIG_DFL;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGPROF, &action, NULL);
    struct itimerval timer = {{0, 5000}, {0, 5000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    spin(300);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, NULL);
    /* The kernel looks at the timer at its ticks, of 1 to 10 ms, if the process runs then. */
    int signals = own_signals >= 3 && own_signals <= 100;
    for (int r = 0; r < 2; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (r == rank)
            printf("rank %d: interrupted %d, threads %d, fork %d, vfork %d, SIGPROF free %d, own signals %s\n", rank, interrupted, ended, forked,
                   WEXITSTATUS(status), was_free, signals ? "as expected" : "wrong");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
