/* A program that sleeps and computes between its calls, in two threads. Its arguments:
 * - `file-limit`: no file may be larger than 4 KiB; it writes one that would be, and counts the signals that it gets for that.
 * - `own-rseq`: it registers restartable sequences itself, with a signature of its own; in place of the C library if that has done so.
 * The record: when it was off the processor, as far as it could be found out.
 * ranks: 2
 * compile: -pthread
 */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define SIGNATURE 0x53053053
#define OWN_SIGNATURE 0x12345678

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static _Thread_local struct {
    unsigned processor_start, processor;
    unsigned long long section;
    unsigned words[12];
} __attribute__((aligned(32))) area;
static volatile sig_atomic_t signals;

static void count_signal(int number) { signals += number == SIGXFSZ; }

static void register_rseq(void) {
    if (&__rseq_size != NULL && __rseq_size > 0) {
        char *theirs = (char *)__builtin_thread_pointer() + __rseq_offset;
        syscall(SYS_rseq, theirs, 32, 1, SIGNATURE);
    }
    CHECK(syscall(SYS_rseq, &area, 32, 0, OWN_SIGNATURE) == 0);
}

static void work(MPI_Comm comm, int steps) {
    int sum = 0, one = 1;
    for (int step = 0; step < steps; step++) {
        for (volatile int i = 0; i < 20000; i++) {
        }
        usleep(30);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size);
    }
}

static MPI_Comm of_thread;

static void *thread(void *own_rseq) {
    if (own_rseq) register_rseq();
    work(of_thread, 50);
    return NULL;
}

/* As much of a file as the limit allows. */
static void write_file(void) {
    char name[32], bytes[5000] = {0};
    snprintf(name, sizeof name, "output.%d", rank);
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    ssize_t written = write(file, bytes, sizeof bytes), more = write(file, bytes, 1);
    if (rank == 0) printf("written: %zd, %zd (%s), signals: %d\n", written, more, strerror(more < 0 ? errno : 0), (int)signals);
    close(file);
}

int main(int argc, char **argv) {
    int provided, limited = argc > 1 && strcmp(argv[1], "file-limit") == 0, own_rseq = argc > 1 && strcmp(argv[1], "own-rseq") == 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &of_thread);
    if (limited) {
        struct rlimit limit = {4096, 4096};
        signal(SIGXFSZ, count_signal);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (own_rseq) register_rseq();
    work(MPI_COMM_WORLD, 200);
    pthread_t other;
    pthread_create(&other, NULL, thread, own_rseq ? &other : NULL);
    pthread_join(other, NULL);
    if (limited) write_file();
    if (rank == 0) printf("restricted: done\n");
    MPI_Finalize();
    return 0;
}
