/* Uses files in many ways, and keeps a ledger of its own: lines `ledger FILE opens reads writes bytes_read bytes_written syncs seeks`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct use { char name[32]; long opens, reads, writes, read, written, syncs, seeks; };

static int rank;
static char block[70000];

static void check(int ok, const char *what) {
    if (!ok) {
        printf("rank %d: %s went wrong: %s\n", rank, what, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void print(struct use *u) {
    printf("ledger %s %ld %ld %ld %ld %ld %ld %ld\n", u->name, u->opens, u->reads, u->writes, u->read, u->written, u->syncs, u->seeks);
}

static void posix(struct use *u) {
    sprintf(u->name, "posix.%d", rank);
    int fd = open(u->name, O_CREAT | O_RDWR | O_TRUNC, 0640);
    check(fd >= 0, "open"), u->opens++;
    for (int i = 0; i < 20; i++) check(write(fd, block, 1000 * i) == 1000 * i, "write"), u->writes++, u->written += 1000 * i;
    check(pwrite(fd, block, 50, 7) == 50, "pwrite"), u->writes++, u->written += 50;
    struct iovec parts[2] = {{block, 300}, {block + 400, 33}};
    check(writev(fd, parts, 2) == 333, "writev"), u->writes++, u->written += 333;
    check(fsync(fd) == 0 && fdatasync(fd) == 0, "fsync"), u->syncs += 2;
    check(lseek(fd, 0, SEEK_SET) == 0, "lseek"), u->seeks++;
    ssize_t got;
    while ((got = read(fd, block, 4096)) > 0) u->reads++, u->read += got;
    check(got == 0, "read"), u->reads++;
    check(pread(fd, block, 10, 190000) == 10, "pread"), u->reads++, u->read += 10;
    check(ftruncate(fd, 5) == 0, "ftruncate");
    /* A descriptor with another number, and one that was closed. */
    int other = dup(fd);
    check(write(other, "abc", 3) == 3, "write to a copy"), u->writes++, u->written += 3;
    check(close(fd) == 0, "close");
    errno = 0;
    check(write(fd, "x", 1) == -1 && errno == EBADF, "write to a closed descriptor");
    check(write(other, "de", 2) == 2, "write to a copy"), u->writes++, u->written += 2;
    errno = ENOTTY;
    check(close(other) == 0 && errno == ENOTTY, "errno is kept");
    errno = 0;
    check(open("no/such/file", O_RDONLY) == -1 && errno == ENOENT, "open of a file that is not there");
}

static void stdio(struct use *u) {
    sprintf(u->name, "stdio.%d", rank);
    FILE *f = fopen(u->name, "w+");
    check(f != NULL, "fopen"), u->opens++;
    for (int i = 0; i < 10000; i++) check(fputc(i & 63, f) != EOF, "fputc"), u->writes++, u->written++;
    for (int i = 0; i < 300; i++) check(fwrite(block, 8, 3, f) == 3, "fwrite"), u->writes++, u->written += 24;
    check(fwrite(block, 1, 65000, f) == 65000, "fwrite"), u->writes++, u->written += 65000;
    check(fputs("a line\n", f) >= 0, "fputs"), u->writes++, u->written += 7;
    int length = fprintf(f, "%d %s %.3f %g %ld %c %e %x %f %f %f\n", rank, "text", 1.5, 2.25, 3L, 'c', 4.5, 77, 5.5, 6.5, 7.5);
    check(length > 40, "fprintf"), u->writes++, u->written += length;
    check(fflush(f) == 0, "fflush"), u->syncs++;
    check(fseek(f, 0, SEEK_SET) == 0, "fseek"), u->seeks++;
    for (int i = 0; i < 10000; i++) check(fgetc(f) == (i & 63), "fgetc"), u->reads++, u->read++;
    check(fread(block, 24, 300, f) == 300, "fread"), u->reads++, u->read += 7200;
    check(fread(block, 1, 65000, f) == 65000, "fread"), u->reads++, u->read += 65000;
    char line[200];
    while (fgets(line, sizeof line, f)) u->reads++, u->read += strlen(line);
    u->reads++;
    check(strstr(line, "text 1.500 2.25 3 c 4.500000e+00 4d 5.500000 6.500000 7.500000\n") != NULL, "the text of fprintf");
    check(fclose(f) == 0, "fclose");
}

static void shared(struct use *u) {
    strcpy(u->name, "shared");
    int fd = open(u->name, O_CREAT | O_WRONLY, 0640);
    check(fd >= 0, "open"), u->opens++;
    for (int i = 0; i < 5; i++) check(pwrite(fd, block, 512, 5 * 512 * rank + 512 * i) == 512, "pwrite"), u->writes++, u->written += 512;
    check(close(fd) == 0, "close");
}

static void *in_thread(void *u_) {
    struct use *u = u_;
    sprintf(u->name, "thread.%d", rank);
    FILE *f = fopen(u->name, "w");
    check(f != NULL, "fopen"), u->opens++;
    for (int i = 0; i < 100; i++) check(fwrite(block, 1, 100, f) == 100, "fwrite"), u->writes++, u->written += 100;
    check(fclose(f) == 0, "fclose");
    return NULL;
}

/* What a child does is not this process's. */
static void child(void) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open("child", O_CREAT | O_WRONLY, 0640);
        if (write(fd, "child", 5) != 5) _exit(1);
        close(fd);
        _exit(0);
    }
    int status;
    check(waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

int main(int argc, char **argv) {
    FILE *early = fopen("early", "w");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct use uses[5] = {0};
    int pipes[2];
    check(pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1 && read(pipes[0], block, 1) == 1, "a pipe");
    posix(&uses[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    stdio(&uses[1]);
    shared(&uses[2]);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, &uses[3]);
    pthread_join(thread, NULL);
    /* Opened before MPI_Init: known from its first use. */
    strcpy(uses[4].name, "early");
    if (rank == 0) fputs("late\n", early), uses[4].writes++, uses[4].written += 5;
    fclose(early);
    child();
    int nothing = open("/dev/null", O_WRONLY);
    check(write(nothing, block, 99) == 99, "/dev/null");
    close(nothing);
    for (int i = 0; i < 5; i++) print(&uses[i]);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
