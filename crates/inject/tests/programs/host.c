/* A program whose threads do what its arguments say, for some seconds, and that tells whether anything went wrong: a call that was
   interrupted, a wait that was too short, a sum that is not what it must be, a signal that was lost. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double end;
static atomic_int interrupted, wrong;
static atomic_long rounds, handled;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void check(const char *what, int is_right)
{
    if (is_right) return;
    if (errno == EINTR) interrupted++;
    else wrong++;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

static int left(void) { double time = end - now(); return time > 0 ? (int)(1000 * time) + 1 : 0; }

/* Each waits until the end in one call. */
static void on_pipe(void) { int ends[2]; char byte; (void)!pipe(ends); struct itimerspec t; (void)t;
    if (fork() == 0) { struct timespec pause = { left() / 1000, left() % 1000 * 1000000L }; nanosleep(&pause, NULL); _exit((int)write(ends[1], "x", 1) - 1); }
    check("read", read(ends[0], &byte, 1) == 1); }
static void on_sleep(void) { struct timespec pause = { left() / 1000, left() % 1000 * 1000000L }, rest; double before = now();
    check("nanosleep", nanosleep(&pause, &rest) == 0); errno = 0;
    check("nanosleep was too short", now() - before >= pause.tv_sec + 1e-9 * pause.tv_nsec - 1e-3); }
static void on_lock(void) { pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t never = PTHREAD_COND_INITIALIZER; struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += left() / 1000; pthread_mutex_lock(&lock);
    while ((errno = pthread_cond_timedwait(&never, &lock, &until)) == 0) {} check("pthread_cond_timedwait", errno == ETIMEDOUT); pthread_mutex_unlock(&lock); }
static void on_futex(void) { int word = 0; struct timespec pause = { left() / 1000, 0 };
    long result = syscall(SYS_futex, &word, 0, 0, &pause, NULL, 0); check("futex", result == -1 && errno == ETIMEDOUT); }
static void on_poll(void) { check("poll", poll(NULL, 0, left()) == 0); }
static void on_epoll(void) { struct epoll_event event; int descriptor = epoll_create1(0);
    while (left() > 0) check("epoll_wait", epoll_wait(descriptor, &event, 1, left()) == 0); }
static void on_signal(void) { sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR2); struct timespec pause = { left() / 1000, 0 };
    long result = sigtimedwait(&set, NULL, &pause); check("sigtimedwait", result == -1 && errno == EAGAIN); }
static void on_semaphore(void) { int set = semget(IPC_PRIVATE, 1, 0600); struct sembuf down = { 0, -1, 0 }; struct timespec pause = { left() / 1000, 0 };
    long result = semtimedop(set, &down, 1, &pause); check("semtimedop", result == -1 && errno == EAGAIN); semctl(set, 0, IPC_RMID); }
static void on_socket(void) { int ends[2]; char byte; socketpair(AF_UNIX, SOCK_STREAM, 0, ends); struct timeval pause = { left() / 1000, 0 };
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause); long result = recv(ends[0], &byte, 1, 0); check("recv", result == -1 && errno == EAGAIN); }

/* Sums of vectors whose result is known. */
static void hot(void)
{
    static const double once = 0.7853981633974483;
    while (now() < end) {
        double sums[8] = { 0 };
        for (int round = 0; round < 20000; round++)
            for (int place = 0; place < 8; place++) sums[place] += (round + 1) * (place + 1) * 0.5;
        for (int place = 0; place < 8; place++) if (sums[place] != 20000.0 * 20001.0 / 4 * (place + 1)) wrong++;
        double value = once;
        for (int round = 0; round < 1000; round++) value = sqrt(value * value);
        if (fabs(value - once) > 1e-12) wrong++;
        rounds++;
    }
}

static void memory(void)
{
    char *blocks[64] = { 0 };
    unsigned long seed = (unsigned long)pthread_self();
    while (now() < end)
        for (int round = 0; round < 1000; round++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            int place = seed >> 58;
            size_t bytes = seed >> 30 & 0xffff;
            if (blocks[place] && blocks[place][0] != (char)place) wrong++;
            free(blocks[place]);
            blocks[place] = malloc(bytes + 1);
            blocks[place][0] = (char)place;
        }
    rounds++;
}

static void yielding(void) { while (now() < end) { syscall(SYS_sched_yield); rounds++; } }

static void on_alarm(int signal) { (void)signal; handled++; }
/* A read that a signal ends, again and again: nothing else may end it, and the signal must. */
static void alarmed(void)
{
    struct sigaction action = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &action, NULL);
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    struct itimerspec often = { { 0, 3000000 }, { 0, 3000000 } };
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0) wrong++;
    int ends[2];
    char byte;
    (void)!pipe(ends);
    long reads = 0;
    while (left() > 20) {
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR) wrong++;
        reads++;
    }
    timer_delete(timer);
    if (reads > handled) { wrong++; fprintf(stderr, "%ld reads ended by %ld signals\n", reads, handled); }
}

static const struct { const char *name; void (*what)(void); } kinds[] = {
    { "pipe", on_pipe }, { "sleep", on_sleep }, { "lock", on_lock }, { "futex", on_futex }, { "poll", on_poll }, { "epoll", on_epoll },
    { "signal", on_signal }, { "semaphore", on_semaphore }, { "socket", on_socket }, { "hot", hot }, { "memory", memory },
    { "yielding", yielding }, { "alarmed", alarmed },
};

static void *run(void *what) { ((void (*)(void))what)(); return NULL; }

static void (*kind(const char *name))(void)
{
    for (size_t place = 0; place < sizeof kinds / sizeof *kinds; place++) if (strcmp(kinds[place].name, name) == 0) return kinds[place].what;
    exit(99);
}

/* host SECONDS KIND…: the first kind in the first thread, the others in threads of their own. */
int main(int count, char **words)
{
    end = now() + atof(words[1]);
    pthread_t threads[64];
    for (int place = 3; place < count; place++) pthread_create(&threads[place], NULL, run, (void *)kind(words[place]));
    printf("begun\n");
    fflush(stdout);
    kind(words[2])();
    for (int place = 3; place < count; place++) pthread_join(threads[place], NULL);
    printf("interrupted %d, wrong %d\n", interrupted, wrong);
    return 0;
}
