/* C++: calls that an exception leaves. Thrown by an error handler, a reduction operator, an attribute copy function and the query function
 * of a generalized request; through a nested call; and once caught inside the handler, so that the call returns.
 * The record: every call is there; those left by an exception are marked and end when the exception passed them.
 * Each rank writes its own ledger: function, calls entered, calls left by an exception, seconds in the latter at most.
 * ranks: 2
 */
#include <chrono>
#include <cstdio>
#include <map>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <thread>

struct Line {
    int entered, left;
    double seconds;
};
static std::map<std::string, Line> ledger;
static int rank, data, handled;
static MPI_Comm nested, caught_inside;

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static void compute() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
static void raise_it(MPI_Comm *, int *, ...) {
    handled++;
    throw std::runtime_error("an MPI error");
}
static void raise_nested(MPI_Comm *, int *, ...) { MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); }
static void catch_nested(MPI_Comm *, int *, ...) {
    try {
        MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } catch (const std::exception &) {
        handled++;
    }
}
static void no_sum(void *, void *, int *, MPI_Datatype *) { throw 42; }
static int no_copy(MPI_Comm, int, void *, void *, void *, int *) { throw 42; }
static int keep(MPI_Comm, int, void *, void *) { return MPI_SUCCESS; }
static int no_query(void *, MPI_Status *) { throw 42; }
static int nothing(void *) { return MPI_SUCCESS; }
static int nothing_cancelled(void *, int) { return MPI_SUCCESS; }

/* One call, counted. */
template <typename Call> static void count(const char *name, Call call) {
    Line &line = ledger[name];
    line.entered++;
    double before = now();
    try {
        call();
        return;
    } catch (const std::runtime_error &) {
    } catch (int) {
    }
    line.left++;
    line.seconds += now() - before;
    compute();
}

/* The frame of a left call may lie in memory that nobody has written since. */
static void call_deeper() {
    volatile char unwritten[1 << 14];
    unwritten[0] = 0;
    count("MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); });
    unwritten[1] = 0;
}

static MPI_Errhandler set_handler(MPI_Comm comm, MPI_Comm_errhandler_function *function) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    return handler;
}

int main(int argc, char **argv) {
    count("MPI_Init", [&] { MPI_Init(&argc, &argv); });
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    count("MPI_Comm_dup", [] { MPI_Comm_dup(MPI_COMM_WORLD, &nested); });
    count("MPI_Comm_dup", [] { MPI_Comm_dup(MPI_COMM_WORLD, &caught_inside); });
    set_handler(MPI_COMM_WORLD, raise_it);
    set_handler(nested, raise_nested);
    set_handler(caught_inside, catch_nested);

    for (int i = 0; i < 50; i++) {
        count("MPI_Send", [] { MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); });
        if (i % 10 == 0) call_deeper();
    }
    for (int i = 0; i < 1000; i++) {
        ledger["MPI_Recv"].entered++;
        try {
            MPI_Recv(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } catch (const std::runtime_error &) {
            ledger["MPI_Recv"].left++;
        }
    }
    ledger["MPI_Recv"].seconds = 1e9; /* not measured */
    for (int i = 0; i < 5; i++) count("MPI_Ssend", [] { MPI_Ssend(&data, 1, MPI_INT, 99, 0, nested); });
    for (int i = 0; i < 5; i++) count("MPI_Bsend", [] { MPI_Bsend(&data, 1, MPI_INT, 99, 0, caught_inside); });
    if (rank == 0) std::printf("handled: %d\n", handled);

    MPI_Op op;
    MPI_Op_create(no_sum, 1, &op);
    int out = 0;
    for (int i = 0; i < 5; i++) count("MPI_Reduce_local", [&] { MPI_Reduce_local(&data, &out, 1, MPI_INT, op); });

    for (int i = 0; i < 5; i++) count("MPI_Allreduce", [&] { MPI_Allreduce(&data, &out, 1, MPI_INT, op, MPI_COMM_WORLD); });

    int key;
    MPI_Comm other;
    MPI_Comm_create_keyval(no_copy, keep, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &out);
    count("MPI_Comm_dup", [&] { MPI_Comm_dup(MPI_COMM_SELF, &other); });
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);

    MPI_Request request;
    count("MPI_Grequest_start", [&] { MPI_Grequest_start(no_query, nothing, nothing_cancelled, NULL, &request); });
    count("MPI_Grequest_complete", [&] { MPI_Grequest_complete(request); });
    count("MPI_Wait", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });

    for (int i = 0; i < 10; i++) {
        if (rank == 0) count("MPI_Send", [] { MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); });
        if (rank == 1) count("MPI_Recv", [] { MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    }
    count("MPI_Finalize", [] { MPI_Finalize(); });
    std::FILE *file = std::fopen(("ledger." + std::to_string(rank)).c_str(), "w");
    for (auto &[name, line] : ledger) std::fprintf(file, "%s %d %d %.9f\n", name.c_str(), line.entered, line.left, line.seconds);
    std::fclose(file);
    return 0;
}
