/* Threads that compute, sleep, touch memory and change their affinity, and keep a ledger of it: what the kernel says of each at both ends.
 * The record: per thread, what lies between the ledger's lower and upper bound, and the affinity at the first MPI call and at the end.
 * Thread 1 still runs at the end; two threads have number 2, one after the other.
 * ranks: 2
 * compile: -pthread -D_GNU_SOURCE
 */
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <time.h>

typedef struct {
    double elapsed, cpu, waiting, voluntary, involuntary, minor, major;
} Reading;

typedef struct {
    Reading lower, upper;
    char affinity[4096], at_end[4096];
} Ledger;

static Ledger ledger[3];
static sem_t is_ready, may_end;

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static Reading reading(int who, clockid_t cpu) {
    struct rusage usage;
    double on_cpu, waiting = 0;
    FILE *statistics = fopen(who == RUSAGE_THREAD ? "/proc/thread-self/schedstat" : "/dev/null", "r");
    if (statistics && fscanf(statistics, "%lf %lf", &on_cpu, &waiting) != 2) waiting = 0;
    if (statistics) fclose(statistics);
    getrusage(who, &usage);
    return (Reading){now(CLOCK_MONOTONIC), now(cpu), waiting, usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt, usage.ru_majflt};
}

static Reading of_thread(void) { return reading(RUSAGE_THREAD, CLOCK_THREAD_CPUTIME_ID); }
static Reading of_process(void) { return reading(RUSAGE_SELF, CLOCK_PROCESS_CPUTIME_ID); }

static void add(Reading *sum, Reading from, Reading to) {
    double *a = (double *)sum, *b = (double *)&from, *c = (double *)&to;
    for (size_t i = 0; i < sizeof(Reading) / sizeof(double); i++) a[i] += c[i] - b[i];
}

/* The processors on which this thread may run, one after the other. */
static void affinity(char *text) {
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    *text = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) sprintf(text + strlen(text), "%s%d", *text ? "," : "", cpu);
}

/* Binds this thread to the first or the last of its processors. */
static void bind(int last) {
    cpu_set_t set, one;
    int chosen = -1;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set) && (last || chosen < 0)) chosen = cpu;
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

/* Processor time, page faults and voluntary switches. */
static void work(double cpu_seconds, size_t pages, int sleeps) {
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 1e9 * cpu_seconds;
    char *memory = malloc(pages * 4096);
    for (size_t page = 0; page < pages; page++) ((volatile char *)memory)[page * 4096] = 1;
    free(memory);
    while (now(CLOCK_THREAD_CPUTIME_ID) < end) {}
    for (int i = 0; i < sleeps; i++) usleep(1000);
}

static void first_call(void) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    CHECK(sum == 1);
}

static void *runs_until_the_end(void *unused) {
    Reading before = of_thread();
    affinity(ledger[1].affinity);
    first_call();
    Reading from = of_thread();
    bind(1);
    work(0.15, 2000, 20);
    affinity(ledger[1].at_end);
    add(&ledger[1].lower, from, of_thread());
    sem_post(&is_ready);
    sem_wait(&may_end);
    add(&ledger[1].upper, before, of_thread());
    return unused;
}

static void *ends_before(void *seconds) {
    affinity(ledger[2].affinity);
    first_call();
    Reading from = of_thread();
    work(*(double *)seconds, 500, 5);
    affinity(ledger[2].at_end);
    add(&ledger[2].lower, from, of_thread());
    return NULL;
}

static void write_reading(FILE *file, const char *name, Reading r) {
    fprintf(file, "\"%s\":{\"elapsed_ns\":%.0f,\"cpu_ns\":%.0f,\"waiting_ns\":%.0f,\"voluntary_switches\":%.0f,\"involuntary_switches\":%.0f,", name,
            r.elapsed, r.cpu, r.waiting, r.voluntary, r.involuntary);
    fprintf(file, "\"minor_faults\":%.0f,\"major_faults\":%.0f}", r.minor, r.major);
}

static void write_ledger(void) {
    char name[32];
    snprintf(name, sizeof name, "ledger-%d.json", rank);
    FILE *file = fopen(name, "w");
    for (int thread = 0; thread < 3; thread++) {
        fprintf(file, "%s{", thread ? "," : "[");
        write_reading(file, "lower", ledger[thread].lower);
        fputc(',', file);
        write_reading(file, "upper", ledger[thread].upper);
        fprintf(file, ",\"affinity\":\"%s\",\"at_end\":\"%s\"}", ledger[thread].affinity, ledger[thread].at_end);
    }
    fputs("]\n", file);
    fclose(file);
}

int main(int argc, char **argv) {
    int provided;
    double seconds[2] = {0.05, 0.1};
    pthread_t alive, ends;
    Reading before = of_thread();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    Reading from = of_thread();
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    affinity(ledger[0].affinity);
    sem_init(&is_ready, 0, 0);
    sem_init(&may_end, 0, 0);
    CHECK(pthread_create(&alive, NULL, runs_until_the_end, NULL) == 0);
    sem_wait(&is_ready);
    for (int i = 0; i < 2; i++) {
        Reading process = of_process();
        CHECK(pthread_create(&ends, NULL, ends_before, &seconds[i]) == 0);
        CHECK(pthread_join(ends, NULL) == 0);
        add(&ledger[2].upper, process, of_process());
    }
    work(0.2, 10000, 30);
    bind(0);
    affinity(ledger[0].at_end);
    add(&ledger[0].lower, from, of_thread());
    MPI_Finalize();
    add(&ledger[0].upper, before, of_thread());
    sem_post(&may_end);
    CHECK(pthread_join(alive, NULL) == 0);
    write_ledger();
    if (rank == 0) printf("usage_ledger: done\n");
    return 0;
}
