// Touches new pages between MPI calls: in `grow` a known number, in `reuse` none. Each rank keeps the page faults by getrusage, and prints those
// of each kind of segment: first all of `grow`, then all of `reuse`. New pages while recording is switched off are in neither. With an argument,
// the program forbids itself the requests by which events of the kernel are recognised.
#define _GNU_SOURCE
#include <mpi.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = 2000, TIMES = 20, ROUNDS = 20 };

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static void compute(void) {
    for (volatile long round = 0; round < 10000000; round++)
        ;
}

__attribute__((noinline)) static void grow(int pages) {
    for (int time = 0; time < TIMES; time++) {
        char *memory = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
        for (int page = 0; page < pages; page++)
            memory[(size_t)page * PAGE] = 1;
        munmap(memory, (size_t)pages * PAGE);
    }
}

__attribute__((noinline)) static void reuse(void) { compute(); }

static void forbid_requests(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)PERF_EVENT_IOC_ID, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1)
        forbid_requests();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long grown = 0, reused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        long begin = faults();
        grow(PAGES * (rank + 1));
        if (round > 0)
            grown += faults() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &(int){round}, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Pcontrol(0);
        grow(PAGES / 8);
        MPI_Pcontrol(1);
        begin = faults();
        reuse();
        if (round > 0)
            reused += faults() - begin;
    }
    long all[4], own[2] = {grown, reused};
    MPI_Gather(own, 2, MPI_LONG, all, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld %ld %ld %ld\n", all[0], all[1], all[2], all[3]);
    MPI_Finalize();
}
