/* Errors the program asked to get back: their classes, and what the statuses then hold.
 * The record does not matter here; what is printed must be that of the bare run. (Codes cannot be compared: MPICH's
 * carry a number that differs from run to run; the class is in them.)
 * ranks: 2
 */
#include "check.h"

static void show(const char *what, int code) {
    int class;
    MPI_Error_class(code, &class);
    printf("%s: class %d, %s\n", what, class, code == class ? "plain" : "with details");
}

/* A truncated and a whole message wait for rank 0 in these two requests. */
static void two_receives(int *small, int *large, MPI_Request *requests) {
    MPI_Irecv(small, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(large, 8, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
}

static int finished(MPI_Request *requests) { /* a failed Waitall may leave requests behind */
    for (int i = 0; i < 2; i++)
        if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    return 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[8] = {0}, small[2], large[8];
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    if (rank == 1) {
        for (int i = 0; i < 2; i++) MPI_Send(data, 8, MPI_INT, 0, 0, MPI_COMM_WORLD);
        for (int i = 0; i < 4; i++) {
            MPI_Send(data, 8, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Send(data, 8, MPI_INT, 0, 2, MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Send(data, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else {
        status.MPI_ERROR = 12345;
        show("truncated, with status", MPI_Recv(small, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &status));
        printf("  status: source %d tag %d error %d\n", status.MPI_SOURCE, status.MPI_TAG, status.MPI_ERROR);
        show("truncated, without", MPI_Recv(small, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

        two_receives(small, large, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        show("waitall, with statuses", MPI_Waitall(2, requests, statuses));
        show("  first", statuses[0].MPI_ERROR);
        show("  second", statuses[1].MPI_ERROR);
        finished(requests);

        two_receives(small, large, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        show("waitall, without", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        finished(requests);

        two_receives(small, large, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        show("wait, truncated", MPI_Wait(&requests[0], &status));
        show("wait, whole", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));

        int done, indices[2], flag = 0, code;
        two_receives(small, large, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        show("wait for the whole one", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        show("waitsome, without", MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE));
        printf("  done %d\n", done);
        finished(requests);

        status.MPI_ERROR = 12345; /* a call that succeeds leaves this field alone */
        code = MPI_Recv(data, 8, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
        printf("good: code %d, error field %d\n", code, status.MPI_ERROR);

        show("rank", MPI_Send(data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD));
        show("tag", MPI_Send(data, 1, MPI_INT, 1, -77, MPI_COMM_WORLD));
        show("count", MPI_Send(data, -1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        show("type", MPI_Send(data, 1, MPI_DATATYPE_NULL, 1, 0, MPI_COMM_WORLD));
        show("communicator", MPI_Send(data, 1, MPI_INT, 1, 0, MPI_COMM_NULL));
        show("root", MPI_Bcast(data, 1, MPI_INT, 99, MPI_COMM_SELF));
        show("isend rank", MPI_Isend(data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, requests));
        show("irecv rank", MPI_Irecv(data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, requests));
        show("probe rank", MPI_Probe(99, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        show("dup of nothing", MPI_Comm_dup(MPI_COMM_NULL, &(MPI_Comm){MPI_COMM_NULL}));
        show("free of nothing", MPI_Type_free(&(MPI_Datatype){MPI_DATATYPE_NULL}));
        show("test of nothing", MPI_Test(&(MPI_Request){MPI_REQUEST_NULL}, &flag, &status));
        printf("flag %d\n", flag);
    }
    MPI_Finalize();
    return 0;
}
