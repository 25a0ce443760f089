/* C++: completion calls that are left before all of their requests are complete: by an exception, by longjmp, and by a jump that nothing
 * can see, out of an error handler and out of the query function of a generalized request. The program then completes the rest.
 * Each rank writes `ledger-RANK.txt` as in 062: `THREAD FUNCTION KEY ...`, also for what a call that was left had completed before.
 * The record: the same completions, call by call. What a call completed that is left unseen is not known, and afterwards neither are sends
 * that share a handle (in the ledger, their keys end in `?`).
 * ranks: 2
 * except: openmpi5 and mpich5-abi (a generalized request crashes them)
 */
#include "check.h"
#include <csetjmp>

enum Way { EXCEPTION, JUMP, UNSEEN, WAYS };
enum { COUNT = 7, ROUNDS = 6, LARGE = 20000, GENERALIZED = 3 };

static const char *names[WAYS] = {"exception", "jump", "unseen"};
static Way way;
static jmp_buf seen;
static void *unseen[5];
static FILE *ledger;
static int tags, generalized, queries_to_leave, left;
static bool uncertain;
static int data[COUNT][LARGE];
static MPI_Request requests[COUNT];
static char keys[COUNT][16];

static void leave() {
    left++;
    if (way == EXCEPTION) throw way;
    if (way == JUMP) longjmp(seen, 1);
    __builtin_longjmp(unseen, 1);
}

static void on_error(MPI_Comm *, int *, ...) { leave(); }

static int query(void *, MPI_Status *status) {
    if (queries_to_leave > 0) {
        queries_to_leave--;
        leave();
    }
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int nothing(void *) { return MPI_SUCCESS; }
static int nothing_cancelled(void *, int) { return MPI_SUCCESS; }

/* Whether a call was left. */
template <typename Call> static bool __attribute__((noinline)) leaves(Call call) {
    if (way == JUMP && setjmp(seen) != 0) return true;
    if (way == UNSEEN && __builtin_setjmp(unseen) != 0) return true;
    try {
        call();
    } catch (Way) {
        return true;
    }
    return false;
}

static void receive(int index, int tag, int length) {
    data[index][0] = -1;
    MPI_Irecv(data[index], length, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[index]);
    snprintf(keys[index], sizeof keys[index], "r%d", tag);
}

static void send(int index, int tag, int length) {
    data[index][0] = tag;
    MPI_Isend(data[index], length, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[index]);
    snprintf(keys[index], sizeof keys[index], "s%d", tag);
}

/* Small and large messages on both sides of a generalized request. */
static void post() {
    receive(5, tags, 1);
    receive(0, tags + 1, LARGE);
    receive(2, tags + 2, 1);
    send(1, tags, 1);
    send(6, tags + 1, LARGE);
    send(4, tags + 2, 1);
    tags += 3;
    MPI_Grequest_start(query, nothing, nothing_cancelled, NULL, &requests[GENERALIZED]);
    snprintf(keys[GENERALIZED], sizeof keys[GENERALIZED], "g%d", generalized++);
    MPI_Grequest_complete(requests[GENERALIZED]);
}

/* A line for the requests that were pending and are not any more. */
static void completed(const char *function, const MPI_Request *before) {
    bool any = false;
    for (int i = 0; i < COUNT; i++) {
        if (before[i] == MPI_REQUEST_NULL || requests[i] != MPI_REQUEST_NULL) continue;
        if (!any) fprintf(ledger, "0 %s", function);
        fprintf(ledger, " %s%s", keys[i], uncertain && keys[i][0] == 's' ? "?" : "");
        any = true;
    }
    if (any) fprintf(ledger, "\n");
}

/* One call; expected to be left or not. */
template <typename Call> static void complete(const char *function, bool to_be_left, Call call) {
    MPI_Request before[COUNT];
    memcpy(before, requests, sizeof before);
    CHECK(leaves(call) == to_be_left);
    if (!to_be_left || way != UNSEEN) completed(function, before);
    else uncertain = true;
}

static void wait_all() { MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE); }
static void wait_all_with_statuses() {
    MPI_Status statuses[COUNT];
    MPI_Waitall(COUNT, requests, statuses);
}

/* The last request is none: rejected before anything is complete. */
template <typename Call> static void reject(Call call) {
    MPI_Request kept = requests[COUNT - 1];
    memset(&requests[COUNT - 1], 0x77, sizeof kept);
    if (sizeof kept == sizeof(void *)) memset(&requests[COUNT - 1], 0, sizeof kept);
    CHECK(leaves(call));
    requests[COUNT - 1] = kept;
}

static void round(int number) {
    post();
    switch (number % 6) {
    case 0: /* rejected, then one after the other in another order */
        reject(wait_all);
        for (int i = 0; i < COUNT; i++) complete("MPI_Wait", false, [=] { MPI_Wait(&requests[(3 * i + 1) % COUNT], MPI_STATUS_IGNORE); });
        break;
    case 1: /* rejected, then by MPI_Waitany */
        reject([] {
            int index;
            MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
        });
        for (int i = 0; i < COUNT; i++) {
            complete("MPI_Waitany", false, [] {
                int index;
                MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
            });
        }
        break;
    case 2: /* one request, twice left */
        queries_to_leave = 2;
        for (int i = 0; i < 3; i++) complete("MPI_Wait", i < 2, [] { MPI_Wait(&requests[GENERALIZED], MPI_STATUS_IGNORE); });
        complete("MPI_Waitall", false, wait_all);
        break;
    case 3: /* in the middle, statuses ignored */
        queries_to_leave = 1;
        complete("MPI_Waitall", true, wait_all);
        complete("MPI_Waitall", false, wait_all);
        break;
    case 4: /* in the middle, statuses given */
        queries_to_leave = 1;
        complete("MPI_Waitall", true, wait_all_with_statuses);
        for (int i = COUNT - 1; i >= 0; i--) complete("MPI_Wait", false, [=] { MPI_Wait(&requests[i], MPI_STATUS_IGNORE); });
        break;
    case 5: /* a test */
        queries_to_leave = 1;
        complete("MPI_Test", true, [] {
            int flag;
            MPI_Test(&requests[GENERALIZED], &flag, MPI_STATUS_IGNORE);
        });
        complete("MPI_Waitall", false, wait_all);
        break;
    }
    for (int i = 0; i < COUNT; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    CHECK(data[5][0] == tags - 3 && data[0][0] == tags - 2 && data[2][0] == tags - 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    char name[32];
    snprintf(name, sizeof name, "ledger-%d.txt", rank);
    ledger = fopen(name, "w");
    for (int i = 0; i < WAYS; i++) {
        left = 0;
        way = static_cast<Way>(i);
        for (int number = 0; number < ROUNDS; number++) round(number);
        if (rank == 0) printf("left by %s: %d\n", names[way], left);
    }
    fclose(ledger);
    MPI_Finalize();
    return 0;
}
