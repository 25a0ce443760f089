/* Signals, cancellation and jumps in calls that use files: what the program sees is what it would see without Sintonia. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int log_file, pipes[2], handled;
static sigjmp_buf back;

static void on_alarm(int signal) {
    handled++;
    if (write(log_file, "alarm\n", 6) != 6) _exit(9);
    (void)signal;
}

/* Opens a file and writes to it, wherever the program is: also in malloc. */
static void on_timer(int signal) {
    int fd = open("handler", O_CREAT | O_WRONLY | O_APPEND, 0640);
    if (write(fd, "x", 1) != 1 || write(log_file, "timer\n", 6) != 6) _exit(9);
    close(fd);
    handled++;
    (void)signal;
}

static void jump(int signal) {
    siglongjmp(back, signal);
}

static void *wait_in_read(void *unused) {
    char byte;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    ssize_t got = read(pipes[0], &byte, 1);
    printf("not cancelled: %zd\n", got);
    return unused;
}

static void install(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    char byte, name[32];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sprintf(name, "log.%d", rank);
    log_file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0640);
    if (pipe(pipes)) return 1;
    /* read is interrupted. */
    install(SIGALRM, on_alarm, 0);
    alarm(1);
    errno = 0;
    ssize_t got = read(pipes[0], &byte, 1);
    printf("read: %zd, %s, handled %d\n", got, strerror(errno), handled);
    /* A jump out of read. */
    install(SIGUSR1, jump, 0);
    if (sigsetjmp(back, 1) == 0) {
        struct itimerval soon = {.it_value = {0, 100000}};
        install(SIGALRM, jump, 0);
        setitimer(ITIMER_REAL, &soon, NULL);
        got = read(pipes[0], &byte, 1);
        printf("not reached\n");
    }
    /* A thread that is cancelled in read. */
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, wait_in_read, NULL);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    /* A handler that interrupts anything, malloc and stdio too. */
    install(SIGVTALRM, on_timer, SA_RESTART);
    struct itimerval often = {.it_interval = {0, 500}, .it_value = {0, 500}}, never = {0};
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    handled = 0;
    FILE *data = fopen(rank ? "data.1" : "data.0", "w");
    for (long i = 0; handled < 100; i++) {
        void *memory = malloc(1000 + i % 50000);
        fwrite(memory, 1, i % 70, data);
        free(memory);
        if (i % 1000 == 0) {
            sprintf(name, "part.%d.%ld", rank, i % 7);
            FILE *part = fopen(name, "w");
            fprintf(part, "%ld\n", i);
            fclose(part);
        }
    }
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    printf("handled %d, closed %d\n", handled >= 100, fclose(data));
    int closed = close(log_file) + close(log_file);
    printf("closed twice %d, %s\n", closed, strerror(errno));
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
