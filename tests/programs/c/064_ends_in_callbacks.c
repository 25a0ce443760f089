/* A program that a callback ends, inside an MPI call. Arguments: how (exit, _exit, quick_exit, abort, kill), and where (an error handler, a
 * reduction operator, an attribute copy function).
 * The record: the ten calls before are there, and the call with the callback is in progress when the rank ends.
 * ranks: 1
 * args: exit handler
 * status: 3
 */
#include "check.h"
#include <signal.h>

static const char *how, *where;

static void end(void) {
    usleep(20000);
    printf("%s in the %s\n", how, where);
    fflush(stdout);
    if (strcmp(how, "exit") == 0) exit(3);
    if (strcmp(how, "_exit") == 0) _exit(3);
    if (strcmp(how, "quick_exit") == 0) quick_exit(3);
    if (strcmp(how, "abort") == 0) abort();
    raise(SIGKILL);
}

static void at_quick_exit_too(void) {
    printf("at quick_exit\n");
    fflush(stdout);
}

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    end();
}

static void operator(void *in, void *out, int *length, MPI_Datatype *type) {
    (void)in, (void)out, (void)length, (void)type;
    end();
}

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)state, (void)in, (void)out, (void)flag;
    end();
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    how = argv[1], where = argv[2];
    at_quick_exit(at_quick_exit_too);
    start(&argc, &argv);
    int data = 0, sum = 0, key;
    for (int i = 0; i < 10; i++) MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
    if (strcmp(where, "handler") == 0) {
        MPI_Errhandler ending;
        MPI_Comm_create_errhandler(handler, &ending);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, ending);
        MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); /*site:handler*/
    } else if (strcmp(where, "operator") == 0) {
        MPI_Op op;
        MPI_Op_create(operator, 1, &op);
        MPI_Reduce_local(&data, &sum, 1, MPI_INT, op); /*site:operator*/
    } else {
        MPI_Comm other;
        MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, &data);
        MPI_Comm_dup(MPI_COMM_WORLD, &other); /*site:copy*/
    }
    printf("not ended\n");
    MPI_Finalize();
    return 0;
}
