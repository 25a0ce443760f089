/* Every way to complete a request, from four threads at once, with a ledger kept by the program itself.
 * Each request has a tag of its own, which its message carries, too. A thread writes into its ledger which requests each of its
 * successful calls completed or freed: `THREAD FUNCTION KEY ...`, in `ledger-RANK.txt`. A key is the kind of operation and its tag (for
 * collectives and generalized requests: how many there were before). It ends in `?` where the program had copied the handle.
 * The record: the same completions, call by call.
 * ranks: 2
 * compile: -pthread
 */
#include "check.h"
#include <pthread.h>
#include <stdarg.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PARTITIONED
#endif

enum { THREADS = 4, ROUNDS = 36, PAIRS = 8, COUNT = 2 * PAIRS, FLOOD = 2100, TAGS = 8192, LARGE = 20000 };

struct operation {
    char key[16];
    int tag, receive, done;
    int *data;
};

struct worker {
    int number, tags, collectives, generalized;
    unsigned same, own;
    MPI_Comm comm;
    FILE *ledger;
    char *text;
    size_t length;
    MPI_Request requests[COUNT], copies[COUNT];
    struct operation operations[COUNT];
    int *data;
};

static struct worker workers[THREADS];
static pthread_barrier_t together;
static int freed[THREADS][TAGS];

/* `same` gives the same numbers on both ranks: they must agree on the messages. `own` does not: each completes as it likes. */
static unsigned next(unsigned *state, unsigned below) {
    *state = *state * 1103515245 + 12345;
    return (*state >> 16) % below;
}

static void shuffle(struct worker *w, int *order, int count) {
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = next(&w->own, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int value(int tag, int from) { return 2 * tag + from; }

/* One line of the ledger; checks what was received. */
static void completed(struct worker *w, const char *function, struct operation *operations, const int *indices, int count, int copied) {
    fprintf(w->ledger, "%d %s", w->number, function);
    for (int i = 0; i < count; i++) {
        struct operation *one = &operations[indices ? indices[i] : i];
        CHECK(!one->done);
        one->done = 1;
        if (one->receive) CHECK(one->data[0] == value(one->tag, 1 - rank));
        fprintf(w->ledger, " %s%s", one->key, copied && !one->receive ? "?" : "");
    }
    fprintf(w->ledger, "\n");
}

static void one_completed(struct worker *w, const char *function, struct operation *operations, int index, int copied) {
    completed(w, function, operations, &index, 1, copied);
}

static void listed(struct worker *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(w->ledger, "%d ", w->number);
    vfprintf(w->ledger, format, arguments);
    va_end(arguments);
}

static struct operation operation(char kind, int tag, int *data) {
    struct operation one = {.tag = tag, .receive = kind == 'r', .data = data};
    snprintf(one.key, sizeof one.key, "%c%d", kind, tag);
    return one;
}

/* Starts a send and a receive of each tag, in array elements at random; some sends are synchronous or large. */
static void post(struct worker *w) {
    int place[COUNT];
    shuffle(w, place, COUNT);
    for (int i = 0; i < PAIRS; i++) {
        int tag = w->number * TAGS + w->tags++, kind = next(&w->same, 8), length = kind == 0 ? LARGE : 1;
        int in = place[2 * i], out = place[2 * i + 1];
        w->operations[in] = operation('r', tag, w->data + in * LARGE);
        w->operations[out] = operation('s', tag, w->data + out * LARGE);
        w->data[in * LARGE] = -1;
        w->data[out * LARGE] = value(tag, rank);
        MPI_Irecv(w->data + in * LARGE, length, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &w->requests[in]);
        if (kind == 1)
            MPI_Issend(w->data + out * LARGE, length, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &w->requests[out]);
        else
            MPI_Isend(w->data + out * LARGE, length, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &w->requests[out]);
    }
}

static void wait_each(struct worker *w, int look_before) {
    int order[COUNT], flag;
    shuffle(w, order, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (look_before) {
            do MPI_Request_get_status(w->requests[order[i]], &flag, MPI_STATUS_IGNORE);
            while (!flag && again());
        }
        MPI_Wait(&w->requests[order[i]], MPI_STATUS_IGNORE);
        one_completed(w, "MPI_Wait", w->operations, order[i], 0);
    }
}

static void wait_all(struct worker *w) {
    MPI_Waitall(COUNT, w->requests, MPI_STATUSES_IGNORE);
    completed(w, "MPI_Waitall", w->operations, NULL, COUNT, 0);
}

static void wait_any(struct worker *w) {
    int index;
    for (int i = 0; i < COUNT; i++) {
        MPI_Waitany(COUNT, w->requests, &index, MPI_STATUS_IGNORE);
        one_completed(w, "MPI_Waitany", w->operations, index, 0);
    }
}

static void wait_some(struct worker *w) {
    int indices[COUNT], count;
    MPI_Status statuses[COUNT];
    for (int done = 0; done < COUNT; done += count) {
        MPI_Waitsome(COUNT, w->requests, &count, indices, statuses);
        completed(w, "MPI_Waitsome", w->operations, indices, count, 0);
    }
}

static void test_each(struct worker *w) {
    int order[COUNT], flag;
    shuffle(w, order, COUNT);
    for (int left = COUNT; left > 0; again()) {
        for (int i = 0; i < COUNT; i++) {
            if (w->operations[order[i]].done) continue;
            MPI_Test(&w->requests[order[i]], &flag, MPI_STATUS_IGNORE);
            if (!flag) continue;
            one_completed(w, "MPI_Test", w->operations, order[i], 0);
            left--;
        }
    }
}

static void test_all(struct worker *w) {
    int flag;
    do MPI_Testall(COUNT, w->requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag && again());
    completed(w, "MPI_Testall", w->operations, NULL, COUNT, 0);
}

static void test_any(struct worker *w) {
    int index, flag;
    for (int left = COUNT; left > 0;) {
        MPI_Testany(COUNT, w->requests, &index, &flag, MPI_STATUS_IGNORE);
        if (!flag) {
            again();
            continue;
        }
        one_completed(w, "MPI_Testany", w->operations, index, 0);
        left--;
    }
}

static void test_some(struct worker *w) {
    int indices[COUNT], count;
    for (int left = COUNT; left > 0; left -= count) {
        MPI_Testsome(COUNT, w->requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count == 0) again();
        else completed(w, "MPI_Testsome", w->operations, indices, count, 0);
    }
}

/* The handles are moved to other variables, in another order. */
static void copy_handles(struct worker *w) {
    int order[COUNT];
    struct operation moved[COUNT];
    shuffle(w, order, COUNT);
    for (int i = 0; i < COUNT; i++) {
        w->copies[i] = w->requests[order[i]];
        w->requests[order[i]] = MPI_REQUEST_NULL;
        moved[i] = w->operations[order[i]];
    }
    memcpy(w->operations, moved, sizeof moved);
}

static void wait_copies(struct worker *w) {
    copy_handles(w);
    for (int i = 0; i < COUNT; i++) {
        MPI_Wait(&w->copies[i], MPI_STATUS_IGNORE);
        one_completed(w, "MPI_Wait", w->operations, i, 1);
    }
}

static void wait_all_copies(struct worker *w) {
    copy_handles(w);
    MPI_Waitall(COUNT, w->copies, MPI_STATUSES_IGNORE);
    completed(w, "MPI_Waitall", w->operations, NULL, COUNT, 1);
}

static void wait_any_copy(struct worker *w) {
    int index;
    copy_handles(w);
    for (int i = 0; i < COUNT; i++) {
        MPI_Waitany(COUNT, w->copies, &index, MPI_STATUS_IGNORE);
        one_completed(w, "MPI_Waitany", w->operations, index, 1);
    }
}

/* The requests that another thread made. */
static void change_hands(struct worker *w) {
    struct worker *other = &workers[(w->number + 1) % THREADS];
    int order[COUNT];
    pthread_barrier_wait(&together);
    shuffle(w, order, COUNT);
    for (int i = 0; i < COUNT; i++) {
        MPI_Wait(&other->requests[order[i]], MPI_STATUS_IGNORE);
        one_completed(w, "MPI_Wait", other->operations, order[i], 0);
    }
    pthread_barrier_wait(&together);
}

/* Sends given up with MPI_Request_free, and a receive that is cancelled. */
static void free_and_cancel(struct worker *w) {
    MPI_Request send, receive;
    int tag = w->number * TAGS + w->tags++, nothing;
    int *out = &freed[w->number][tag % TAGS];
    struct operation in = operation('r', tag, w->data);
    *out = value(tag, rank);
    MPI_Irecv(w->data, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &receive);
    MPI_Isend(out, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    listed(w, "MPI_Request_free s%d\n", tag);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    one_completed(w, "MPI_Wait", &in, 0, 0);

    tag = w->number * TAGS + w->tags++;
    MPI_Irecv(&nothing, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &receive);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    listed(w, "MPI_Wait r%d\n", tag);
}

static void persistent(struct worker *w) {
    MPI_Request requests[2];
    int tag = w->number * TAGS + w->tags++, out = value(tag, rank), in;
    MPI_Send_init(&out, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        in = -1;
        MPI_Startall(2, requests);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        CHECK(in == value(tag, 1 - rank));
        listed(w, "MPI_Wait R%d\n", tag);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        listed(w, "MPI_Wait S%d\n", tag);
        /* Inactive: nothing completes. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        listed(w, "MPI_Request_free %c%d\n", "SR"[i], tag);
    }
}

static void partitioned(struct worker *w) {
#ifdef PARTITIONED
    /* Open MPI 5 cannot do this from several threads. */
    if (w->number != 0) return;
    MPI_Request requests[2];
    int tag = w->number * TAGS + w->tags++, out[4], in[4], flag;
    MPI_Psend_init(out, 4, 1, MPI_INT, 1 - rank, tag, w->comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 1, MPI_INT, 1 - rank, tag, w->comm, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        for (int part = 3; part >= 0; part--) {
            out[part] = value(tag, rank) + i;
            MPI_Pready(part, requests[0]);
        }
        do MPI_Parrived(requests[1], 2, &flag);
        while (!flag && again());
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[2] == value(tag, 1 - rank) + i);
        listed(w, "MPI_Waitall P%d Q%d\n", tag, tag);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        listed(w, "MPI_Request_free %c%d\n", "PQ"[i], tag);
    }
#else
    (void)w;
#endif
}

static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state) { return state ? MPI_SUCCESS : MPI_SUCCESS; }
static int cancel(void *state, int complete) { return state || complete ? MPI_SUCCESS : MPI_SUCCESS; }

static void beyond_messages(struct worker *w) {
    MPI_Request requests[3];
    int mine = 1, sum;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, w->comm, &requests[0]);
    MPI_Ibarrier(w->comm, &requests[1]);
    MPI_Grequest_start(query, release, cancel, NULL, &requests[2]);
    MPI_Grequest_complete(requests[2]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    listed(w, "MPI_Wait g%d\n", w->generalized++);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    listed(w, "MPI_Waitall c%d c%d\n", w->collectives, w->collectives + 1);
    w->collectives += 2;
    CHECK(sum == 2);
}

/* More requests in flight than one record of a call has room for. */
static void flood(struct worker *w) {
    MPI_Request *requests = malloc(2 * FLOOD * sizeof *requests);
    struct operation *operations = malloc(2 * FLOOD * sizeof *operations);
    int *data = malloc(2 * FLOOD * sizeof *data);
    for (int i = 0; i < FLOOD; i++) {
        int tag = w->number * TAGS + w->tags++;
        operations[i] = operation('r', tag, data + i);
        operations[FLOOD + i] = operation('s', tag, data + FLOOD + i);
        data[FLOOD + i] = value(tag, rank);
        MPI_Irecv(data + i, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(data + FLOOD + i, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[FLOOD + i]);
    }
    MPI_Waitall(2 * FLOOD, requests, MPI_STATUSES_IGNORE);
    completed(w, "MPI_Waitall", operations, NULL, 2 * FLOOD, 0);
    free(requests);
    free(operations);
    free(data);
}

static void *work(void *worker) {
    struct worker *w = worker;
    w->data = malloc((size_t)COUNT * LARGE * sizeof *w->data);
    w->ledger = open_memstream(&w->text, &w->length);
    for (int round = 0; round < ROUNDS; round++) {
        int way = next(&w->same, 16);
        if (way < 12) post(w);
        switch (way) {
        case 0: wait_each(w, 0); break;
        case 1: wait_all(w); break;
        case 2: wait_any(w); break;
        case 3: wait_some(w); break;
        case 4: test_each(w); break;
        case 5: test_all(w); break;
        case 6: test_any(w); break;
        case 7: test_some(w); break;
        case 8: wait_each(w, 1); break;
        case 9: wait_copies(w); break;
        case 10: wait_all_copies(w); break;
        case 11: wait_any_copy(w); break;
        case 12: free_and_cancel(w); break;
        case 13: persistent(w); break;
        case 14: partitioned(w); break;
        case 15: beyond_messages(w); break;
        }
        if (round % 12 == 6) {
            post(w);
            change_hands(w);
        }
    }
    flood(w);
    fclose(w->ledger);
    free(w->data);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].same = 1 + i;
        workers[i].own = 100 + 10 * rank + i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

    char name[32];
    snprintf(name, sizeof name, "ledger-%d.txt", rank);
    FILE *ledger = fopen(name, "w");
    CHECK(ledger != NULL);
    for (int i = 0; i < THREADS; i++) {
        fputs(workers[i].text, ledger);
        MPI_Comm_free(&workers[i].comm);
    }
    fclose(ledger);
    if (rank == 0) printf("request ledger: done\n");
    MPI_Finalize();
    return 0;
}
