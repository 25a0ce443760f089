/* Four workers in pairs: each computes and exchanges with its partner, who computes three times as long or a third of it. Two ranks
 * have two of them each: the main thread and another one. Each worker keeps a ledger of its time in MPI and outside, between its first
 * call and its last (the main thread: between MPI_Init and MPI_Finalize), and prints it as `ledger RANK THREAD MPI OUTSIDE`, in ns.
 * The report has the same times for each thread, and efficiencies that follow from them.
 * ranks: 2
 * compile: -pthread
 */
#include "check.h"
#include "timing.h"
#include <pthread.h>

#ifdef WORKERS_ARE_RANKS
enum { WORKERS_PER_RANK = 1 };
#else
enum { WORKERS_PER_RANK = 2 };
#endif
enum { TURNS = 20 };

struct ledger {
    double begin, end, in_mpi;
};

static struct ledger work(int worker) {
    int is_slow = worker >= 2, tag = worker % 2;
    int partner = WORKERS_PER_RANK == 1 ? (worker + 2) % 4 : !rank;
    /* The first call of a thread takes longer: it is not in the ledger. */
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct ledger ledger = {now(), 0, 0};
    for (int turn = 0, value; turn < TURNS; turn++) {
        compute(is_slow ? 0.015 : 0.005);
        double enter = now();
        MPI_Sendrecv(&turn, 1, MPI_INT, partner, tag, &value, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ledger.end = now();
        ledger.in_mpi += ledger.end - enter;
        CHECK(value == turn);
    }
    return ledger;
}

static void print(int thread, struct ledger ledger) {
    double outside = ledger.end - ledger.begin - ledger.in_mpi;
    fprintf(stderr, "ledger %d %d %.0f %.0f\n", rank, thread, 1e9 * ledger.in_mpi, 1e9 * outside);
}

static void *second(void *unused) {
    (void)unused;
    print(1, work(2 * rank + 1));
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    double begin = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    if (WORKERS_PER_RANK == 2) pthread_create(&thread, NULL, second, NULL);
    struct ledger ledger = work(WORKERS_PER_RANK * rank);
    if (WORKERS_PER_RANK == 2) pthread_join(thread, NULL);
    ledger.begin = begin;
    ledger.end = now();
    print(0, ledger);
    MPI_Finalize();
    return 0;
}
