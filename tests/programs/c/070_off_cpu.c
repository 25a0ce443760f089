/* Segments that compute and segments that sleep, each followed by an Allreduce. With an argument every rank keeps a ledger of what the
 * kernel counts: before and after each call it reads the time ready to run without a processor (schedstat), the processor time, the
 * elapsed time, and how often it has blocked: what a hypervisor takes from a thread that never blocked is in none of these times. It may
 * lose its processor while it reads, and what came then belongs to the segment: so waiting has two bounds. At the end there is one line
 * per segment and call in the file `ledger.RANK`: segment or call, the least and the most waiting, blocked and elapsed nanoseconds. With
 * the argument `rival` the ranks share processors 0 and 1, each with a child that computes all the time.
 * The record: the same times waiting and blocked.
 * ranks: 2
 */
#define _GNU_SOURCE
#include "off_cpu.h"
#include <sys/resource.h>

#define STEPS 60

struct times {
    long long waiting, cpu, elapsed, blocks;
};
struct reading {
    long long first_waiting;
    struct times last;
};

static struct {
    const char *what;
    struct reading before, after;
} ledger[4 * STEPS];
static int lines;

static struct times times(void) {
    struct times now;
    do { /* until nothing came between the readings */
        now.waiting = waiting();
        now.cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
        now.elapsed = nanoseconds(CLOCK_MONOTONIC);
        struct rusage usage;
        getrusage(RUSAGE_THREAD, &usage);
        now.blocks = usage.ru_nvcsw;
    } while (now.waiting != waiting());
    return now;
}

static struct reading look(void) {
    struct reading reading;
    reading.first_waiting = waiting(); /* at once: the next line may have to wait */
    reading.last = times();
    return reading;
}

static void enter(const char *what, struct reading before, struct reading after) {
    ledger[lines].what = what;
    ledger[lines].before = before;
    ledger[lines++].after = after;
}

static void write_line(FILE *file, struct reading *from, struct reading *to) {
    long long least = to->first_waiting - from->last.waiting, most = to->last.waiting - from->first_waiting;
    long long waiting = to->last.waiting - from->last.waiting, elapsed = to->last.elapsed - from->last.elapsed;
    long long blocked = to->last.blocks == from->last.blocks ? 0 : elapsed - waiting - (to->last.cpu - from->last.cpu);
    fprintf(file, " %lld %lld %lld %lld\n", least, most, blocked, elapsed);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int has_rival = argc > 1 && strcmp(argv[1], "rival") == 0;
    if (has_rival) bind_to_own_processor();
    pid_t rival = has_rival ? start_rival() : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    int sum;
    struct reading last = look();
    for (int step = 0; step < STEPS; step++) {
        compute(0.001 + 0.0005 * (step % 4));
        sched_yield(); /* a new time slice, so that no switch comes between the reading and the call */
        struct reading computed = look();
        enter("compute", last, computed);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:computed*/
        struct reading reduced = look();
        enter("call", computed, reduced);
        usleep(3000 + 1000 * (step % 3)); /* long beside what waking up takes on a virtual machine */
        sched_yield();
        struct reading slept = look();
        enter("sleep", reduced, slept);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /*site:slept*/
        last = look();
        enter("call", slept, last);
    }
    CHECK(sum == size * (size - 1) / 2);
    stop_rival(rival);
    if (argc > 1) {
        FILE *file = open_ledger();
        for (int i = 0; file && i < lines; i++) {
            fprintf(file, "%s", ledger[i].what);
            write_line(file, &ledger[i].before, &ledger[i].after);
        }
        CHECK(file && fclose(file) == 0);
    }
    if (rank == 0) printf("off_cpu: done\n");
    MPI_Finalize();
    return 0;
}
